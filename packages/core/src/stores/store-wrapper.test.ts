import { describe, expect, it } from "vitest";
import { fixedWindow, MemoryStore, rateLimiter, tokenBucket } from "../index.ts";
import { ManualClock } from "../testing/manual-clock.ts";
import { cached } from "../wrappers/cached/cached.ts";
import { leased } from "../wrappers/leased/leased.ts";
import { resilient } from "../wrappers/resilient/resilient.ts";
import type { Rule, Store } from "./store.ts";
import { StoreWrapper } from "./store-wrapper.ts";

const wrappers: Readonly<Record<string, (store: Store) => StoreWrapper>> = {
  StoreWrapper: (store) => new StoreWrapper(store),
  resilient: (store) => resilient(store),
  cached: (store) => cached(store),
  leased: (store) => leased(store),
};

class WholeStore implements Store {
  readonly clock = new ManualClock();
  readonly notifications = { subscribe: () => () => {}, post: () => {} };
  readonly journal = {
    isClosed: false,
    add: async () => {},
    isOrdered: true,
    extend: async () => [],
    end: async () => {},
    restore: async () => {},
    find: async () => undefined,
    claimOverdue: async () => [],
    list: async () => [],
  };
  readonly takesFirst = true;
  readonly nodes = { of: () => "a", all: () => ["a"] };
  readonly calls: string[] = [];

  open(rule: Rule): void {
    this.calls.push(`open ${rule.name}`);
  }

  async ready(): Promise<void> {
    this.calls.push("ready");
  }

  async close(): Promise<void> {
    this.calls.push("close");
  }

  apply(): never {
    throw new Error("not called");
  }
}

describe.each(Object.entries(wrappers))("%s", (_, wrap) => {
  it("forwards what the inner store offers, and its lifecycle", async () => {
    const store = new WholeStore();
    const wrapper = wrap(store);
    const { clock, notifications, journal, takesFirst, nodes, calls } = store;
    expect(wrapper).toMatchObject({ clock, notifications, journal, takesFirst, nodes });
    wrapper.open({ name: "api", limit: tokenBucket("100/m") });
    await wrapper.ready();
    await wrapper.close();
    expect(calls).toEqual(["open api", "ready", "close"]);
  });

  it("works on a store that offers nothing but apply", async () => {
    const wrapper = wrap({ apply: () => [] });
    expect(wrapper.journal).toBeUndefined();
    wrapper.open({ name: "api", limit: tokenBucket("100/m") });
    await wrapper.ready();
    await wrapper.close();
  });

  it("changes a limit in memory, at once and with what was used", async () => {
    const limiter = rateLimiter(
      { api: fixedWindow("10/h") },
      { store: wrap(new MemoryStore({ clock: new ManualClock() })) },
    );
    await limiter.check("api", "k", { cost: 8 });
    limiter.setLimit("api", fixedWindow("20/h"));
    expect(await limiter.check("api", "k", { cost: 12 })).toMatchObject({ allowed: true, limit: 20, remaining: 0 });
    limiter.setLimit("api", fixedWindow("5/h"));
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: false, limit: 5 });
  });

  it("rejects what is not a store", () => {
    expect(() => Reflect.apply(wrap, undefined, [{}])).toThrow(/must be a store/);
  });
});
