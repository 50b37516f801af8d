import * as fc from "fast-check";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  fixedWindow,
  HeadgateError,
  MemoryStore,
  type Operation,
  type Rule,
  type Store,
  StoreError,
} from "headgate";
import { type ReservationJournal, Reservations } from "headgate/store";
import { ManualClock } from "headgate/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { AcrossKeys } from "./across-keys.ts";

const rule: Rule = { name: "api", limit: fixedWindow("5/m") };

/** A store that keeps each key somewhere else. */
class Apart implements Store {
  readonly clock = new ManualClock(1_000);
  readonly memory = new MemoryStore({ clock: this.clock });
  readonly calls: string[] = [];
  /** Called before each request. */
  before: (action: Action, key: string) => void = () => {};

  async apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    const [{ key }] = operations;
    if (operations.some((other) => other.key !== key)) throw new HeadgateError("HG_KEYS_APART", "key", "are apart");
    this.calls.push(`${action} ${key}`);
    this.before(action, key);
    return this.memory.apply(action, operations, options);
  }

  left(key: string): number {
    return this.memory.apply("peek", [{ rule, key, cost: 0 }])[0].remaining;
  }
}

/** A journal that outlives the processes that write it. */
class Journal implements ReservationJournal {
  readonly isClosed = false;
  readonly isOrdered = false;
  readonly entries = new Map<string, { readonly id: string; readonly text: string; readonly deadline: number }>();
  /** Called before each entry is written, and before entries are removed. */
  before: (call: "add" | "end") => Promise<void> = async () => {};
  private readonly clock: ManualClock;

  constructor(clock: ManualClock) {
    this.clock = clock;
  }

  async add({ id, text }: { readonly id: string; readonly text: string }, forMs: number): Promise<void> {
    await this.before("add");
    this.entries.set(id, { id, text, deadline: this.clock.now() + forMs * 1000 });
  }

  async end(entries: readonly { readonly id: string }[]): Promise<void> {
    await this.before("end");
    for (const { id } of entries) this.entries.delete(id);
  }

  async list(most: number, latest = Number.POSITIVE_INFINITY) {
    const found = [...this.entries.values()].filter(({ deadline }) => deadline <= latest);
    return found.slice(0, most).map((entry) => ({ ...entry, isEnded: false }));
  }

  claimOverdue(most: number) {
    return this.list(most, this.clock.now());
  }

  async find(): Promise<undefined> {}

  async extend(): Promise<[]> {
    return [];
  }

  async restore(): Promise<void> {}
}

class ApartWithJournal extends Apart {
  readonly journal = new Journal(this.clock);
}

function operations(...costs: readonly [key: string, cost: number][]): Operation[] {
  return costs.map(([key, cost]) => ({ rule, key, cost }));
}

describe("a request with keys that are kept apart", () => {
  it("is charged to all of them", async () => {
    const store = new Apart();
    const answers = await new AcrossKeys(store).apply("take", operations(["a", 2], ["b", 3]));
    expect(answers).toMatchObject([
      { allowed: true, remaining: 3 },
      { allowed: true, remaining: 2 },
    ]);
  });

  it("is charged to none of them if one denies, and says what is left of each", async () => {
    const store = new Apart();
    store.memory.apply("take", operations(["b", 4]));
    const answers = await new AcrossKeys(store).apply("take", operations(["a", 2], ["b", 3], ["c", 1]));
    expect(answers).toMatchObject([
      { allowed: true, remaining: 5 },
      { allowed: false, remaining: 1, retryAfter: 59_000_000 },
      { allowed: true, remaining: 5 },
    ]);
    expect(store.calls).toEqual(["take a", "take b", "peek c", "refund a"]);
    expect(["a", "b", "c"].map((key) => store.left(key))).toEqual([5, 1, 5]);
  });

  it("is charged once, and undone once, when it is repeated under its idempotency key", async () => {
    const store = new Apart();
    const across = new AcrossKeys(store);
    for (let i = 0; i < 3; i += 1) {
      await across.apply("take", operations(["a", 2], ["b", 1]), { idempotencyKey: "passes" });
      await across.apply("take", operations(["a", 1], ["b", 9]), { idempotencyKey: "denied" });
    }
    expect(["a", "b"].map((key) => store.left(key))).toEqual([3, 4]);
  });

  it("gives nothing back into the next window", async () => {
    const store = new Apart();
    store.memory.apply("take", operations(["b", 5]));
    store.before = (action) => {
      if (action !== "refund") return;
      store.clock.set(60_000);
      store.memory.apply("take", operations(["a", 4]));
      store.before = () => {};
    };
    await new AcrossKeys(store).apply("take", operations(["a", 3], ["b", 1]));
    expect(store.left("a")).toBe(1);
  });

  it("gives nothing back that a fallback has admitted", async () => {
    const store = new Apart();
    const { apply } = store;
    store.memory.apply("take", operations(["a", 3], ["b", 5]));
    store.apply = async (action, asked, options) => {
      if (action !== "take" || asked[0].key !== "a" || asked.length > 1)
        return apply.call(store, action, asked, options);
      return [
        { time: 0, allowed: true, remaining: 1, retryAfter: 0, resetAfter: 1, source: "fallback", degraded: true },
      ];
    };
    await new AcrossKeys(store).apply("take", operations(["a", 1], ["b", 1]));
    expect(store.left("a")).toBe(2);
  });

  it("undoes its takes when the store answers again, and fails with its error if it does not decide", async () => {
    const store = new Apart();
    let failures = 2;
    store.before = (action, key) => {
      if (action === "take" && key === "b") throw new StoreError("HG_STORE_UNREACHABLE", "is down");
      if (action === "refund" && failures > 0) {
        failures -= 1;
        throw new StoreError("HG_STORE_UNREACHABLE", "is down");
      }
    };
    const asked = new AcrossKeys(store).apply("take", operations(["a", 2], ["b", 1]));
    await expect(asked).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    expect(store.left("a")).toBe(5);
  });

  it("never admits more than a limit, and leaves nothing charged of what it denies, in any order", async () => {
    const requests = fc.array(
      fc.uniqueArray(fc.tuple(fc.constantFrom("a", "b", "c"), fc.integer({ min: 1, max: 3 })), {
        minLength: 1,
        maxLength: 3,
        selector: ([key]) => key,
      }),
      { minLength: 1, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(requests, async (requests) => {
        const store = new Apart();
        const across = new AcrossKeys(store);
        const results = await Promise.all(requests.map((request) => across.apply("take", operations(...request))));
        const used = new Map([
          ["a", 0],
          ["b", 0],
          ["c", 0],
        ]);
        for (const [i, request] of requests.entries()) {
          if (!results[i].every(({ allowed }) => allowed)) continue;
          for (const [key, cost] of request) used.set(key, (used.get(key) ?? 0) + cost);
        }
        for (const [key, units] of used) {
          expect(units).toBeLessThanOrEqual(5);
          expect(store.left(key)).toBe(5 - units);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe("with a journal", () => {
  const isJournalled = { isJournalled: true, journalWaitMs: 60_000 };
  const PAIR = operations(["a", 2], ["b", 3]);

  function across(store: Store): AcrossKeys {
    return new AcrossKeys(store, isJournalled);
  }

  /** Another process that shares the store cleans up after the deadline. */
  async function cleanUp(store: ApartWithJournal, after = 10_000): Promise<void> {
    const others = new Reservations(store, { clock: store.clock });
    for (let ms = 0; ms < after; ms += 1_000) await store.clock.advance(1_000);
    await vi.waitFor(() => expect(store.journal.entries.size).toBe(0), 30_000);
    others.close();
  }

  it("charges all keys or none, and leaves no entries", async () => {
    const store = new ApartWithJournal();
    expect(await across(store).apply("take", PAIR)).toMatchObject([
      { allowed: true, remaining: 3 },
      { allowed: true, remaining: 2 },
    ]);
    expect(await across(store).apply("take", PAIR)).toMatchObject([
      { allowed: true, remaining: 3 },
      { allowed: false, remaining: 2 },
    ]);
    expect(["a", "b"].map((key) => store.left(key))).toEqual([3, 2]);
    await vi.waitFor(() => expect(store.journal.entries.size).toBe(0));
    await cleanUp(store);
    expect(["a", "b"].map((key) => store.left(key))).toEqual([3, 2]);
  });

  it.each([
    ["before the first take", "a", "before"],
    ["after the first take", "a", "after"],
    ["before the second take", "b", "before"],
    ["after the second take", "b", "after"],
  ] as const)("gives everything back if its process dies %s", async (_, at, when) => {
    const store = new ApartWithJournal();
    const { apply } = store;
    let isDead = false;
    const dead = new Promise<void>((died) => {
      store.apply = async (action, asked, options) => {
        const isThere = !isDead && action === "take" && asked.length === 1 && asked[0].key === at;
        if (!isThere) return apply.call(store, action, asked, options);
        if (when === "after") await apply.call(store, action, asked, options);
        isDead = true;
        died();
        return new Promise(() => {});
      };
    });
    void across(store).apply("take", PAIR);
    await dead;
    expect(store.left("a")).toBe(at === "a" && when === "before" ? 5 : 3);
    expect(store.journal.entries.size).toBe(2);
    const others = new Reservations(store, { clock: store.clock });
    expect(await others.list(10), "they are not listed as reservations").toEqual([]);
    others.close();
    await cleanUp(store);
    expect(["a", "b"].map((key) => store.left(key))).toEqual([5, 5]);
  });

  it("returns everything if its process dies while it undoes", async () => {
    const store = new ApartWithJournal();
    store.memory.apply("take", operations(["b", 4]));
    const { apply } = store;
    let isDead = false;
    const dead = new Promise<void>((died) => {
      store.apply = async (action, asked, options) => {
        if (isDead || action !== "settle") return apply.call(store, action, asked, options);
        isDead = true;
        died();
        return new Promise(() => {});
      };
    });
    void across(store).apply("take", PAIR);
    await dead;
    expect(store.left("a")).toBe(3);
    await cleanUp(store);
    expect(["a", "b"].map((key) => store.left(key))).toEqual([5, 1]);
  });

  it("fails, and returns everything, if the journal does not confirm", async () => {
    const store = new ApartWithJournal();
    store.journal.before = async (call) => {
      if (call === "end") throw new StoreError("HG_STORE_UNREACHABLE", "is down");
    };
    await expect(across(store).apply("take", PAIR)).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    expect(["a", "b"].map((key) => store.left(key))).toEqual([5, 5]);
    store.journal.before = async () => {};
    await cleanUp(store);
    expect(["a", "b"].map((key) => store.left(key))).toEqual([5, 5]);
  });

  it("fails, and charges nothing, if its process was frozen until others had given back a part", async () => {
    const store = new ApartWithJournal();
    const { apply } = store;
    let isFrozen = false;
    store.apply = async (action, asked, options) => {
      if (!isFrozen && action === "take" && asked.length === 1 && asked[0].key === "b") {
        isFrozen = true;
        await cleanUp(store);
        expect(store.left("a")).toBe(5);
        const now = performance.now() + 10_000;
        vi.spyOn(performance, "now").mockReturnValue(now);
      }
      return apply.call(store, action, asked, options);
    };
    onTestFinished(() => {
      vi.restoreAllMocks();
    });
    await expect(across(store).apply("take", PAIR)).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    expect(["a", "b"].map((key) => store.left(key))).toEqual([5, 5]);
  });

  it("charges without it if it does not answer", async () => {
    const store = new ApartWithJournal();
    store.journal.before = () => Promise.reject(new StoreError("HG_STORE_UNREACHABLE", "is down"));
    expect(await across(store).apply("take", PAIR)).toMatchObject([{ allowed: true }, { allowed: true }]);
    expect(["a", "b"].map((key) => store.left(key))).toEqual([3, 2]);
    const silent = new ApartWithJournal();
    silent.journal.before = () => new Promise(() => {});
    const impatient = new AcrossKeys(silent, { isJournalled: true, journalWaitMs: 1 });
    await impatient.apply("take", PAIR);
    expect(["a", "b"].map((key) => silent.left(key))).toEqual([3, 2]);
  });

  it("is not needed under an idempotency key, where the retry completes what was interrupted", async () => {
    const store = new ApartWithJournal();
    store.journal.before = () => Promise.reject(new Error("not called"));
    const { apply } = store;
    const dead = new Promise<void>((died) => {
      store.apply = async (action, asked, options) => {
        if (asked.length > 1 || asked[0].key === "a") return apply.call(store, action, asked, options);
        died();
        return new Promise(() => {});
      };
    });
    void across(store).apply("take", PAIR, { idempotencyKey: "once" });
    await dead;
    expect(store.left("a")).toBe(3);
    store.apply = apply;
    await across(store).apply("take", PAIR, { idempotencyKey: "once" });
    expect(["a", "b"].map((key) => store.left(key))).toEqual([3, 2]);
  });
});
