import { describe, expect, it } from "vitest";
import { slotConformance } from "../../test/stores/slot-conformance.ts";
import { type Context, context } from "../../test/wrappers/resilient/context.ts";
import { FaultyStore } from "../../test/wrappers/resilient/faulty-store.ts";
import {
  cached,
  concurrency,
  gcra,
  leased,
  MemoryStore,
  type Operation,
  type Rule,
  type Store,
  StoreError,
} from "../index.ts";
import { ManualClock } from "../testing/index.ts";
import { resilient } from "./resilient/resilient.ts";

const TODAY_MS = 1_700_000_000_123.457;

const wrappers: Readonly<Record<string, (clock: ManualClock) => Store>> = {
  "resilient over a store that answers at once": (clock) => resilient(new MemoryStore({ clock }), { clock }),
  "resilient over a store that answers by a promise": (clock) => resilient(new FaultyStore(clock), { clock }),
  cached: (clock) => cached(new MemoryStore({ clock }), { clock, flushMs: 0 }),
  leased: (clock) => leased(new MemoryStore({ clock }), { clock }),
};

for (const [name, make] of Object.entries(wrappers)) {
  slotConformance(name, () => {
    const clock = new ManualClock(TODAY_MS);
    return { store: make(clock), clock };
  });
}

const slots: Rule = { name: "slots", limit: concurrency(5) };
const MINUTE = 60_000_000;

function slot(id: string, key = "k", rule = slots): Operation {
  return { rule, key, cost: 1, slot: { id, forUs: MINUTE } };
}

describe("slots while the store fails", () => {
  async function fail(options: Parameters<typeof context>[0], before: (context: Context) => Promise<void>) {
    const made = context(options);
    await before(made);
    made.inner.mood = "rejecting";
    return made;
  }

  it("are denied under deny, and none is extended", async () => {
    const { ask } = await fail({ onError: "deny" }, async ({ ask }) => void (await ask("take", slot("a"))));
    expect(await ask("take", slot("b"))).toMatchObject({ allowed: false, degraded: true, source: "fallback" });
    expect(await ask("extend", slot("a"))).toMatchObject({ allowed: false, degraded: true });
  });

  it("are given under allow, except where the store had none left, and extended", async () => {
    const { ask, clock } = await fail({ onError: "allow" }, async ({ ask }) => {
      for (const id of ["a", "b", "c", "d", "e", "f"]) await ask("take", slot(id, "full"));
      await ask("take", slot("a"));
    });
    for (let i = 0; i < 9; i += 1) {
      expect(await ask("take", slot(`more ${i}`))).toMatchObject({ allowed: true, degraded: true });
    }
    expect(await ask("take", slot("g", "full"))).toMatchObject({ allowed: false, degraded: true });
    expect(await ask("extend", slot("a", "full"))).toMatchObject({ allowed: true, degraded: true });
    await clock.advance(MINUTE / 1000);
    expect(await ask("take", slot("g", "full"))).toMatchObject({ allowed: true, degraded: true });
  });

  it("are a share of the limit under local, in which those count that the process holds", async () => {
    const { ask, clock, inner } = await fail({ onError: "local", nodes: 2 }, async ({ ask }) => {
      await ask("take", slot("a"));
      await ask("take", slot("b"));
      await ask("release", slot("b"));
    });
    expect(await ask("take", slot("c"))).toMatchObject({ allowed: true, degraded: true, inUse: 2 });
    expect(await ask("take", slot("d"))).toMatchObject({ allowed: false, degraded: true, inUse: 2 });
    for (const id of ["a", "c"]) {
      expect(await ask("extend", slot(id))).toMatchObject({ allowed: true, degraded: true, inUse: 2 });
    }
    expect(await ask("release", slot("a"))).toMatchObject({ degraded: true, inUse: 1 });
    expect(await ask("take", slot("d"))).toMatchObject({ allowed: true, inUse: 2 });
    inner.mood = "well";
    await clock.advance(1_000);
    // The store has not seen c and d: they are taken when they are extended.
    expect(await ask("extend", slot("c"))).toMatchObject({ allowed: true, degraded: false, inUse: 2 });
    expect(await ask("extend", slot("d"))).toMatchObject({ allowed: true, degraded: false, inUse: 3 });
  });

  it("are none under local if there are more nodes than slots", async () => {
    const { ask } = await fail({ onError: "local", nodes: 6 }, async () => {});
    const denied = await ask("take", slot("a"));
    expect(denied).toMatchObject({ allowed: false, degraded: true });
    expect(denied.retryAfter).toBeLessThan(MINUTE);
  });

  it("that are beyond the share of the process stay in use when they are extended", async () => {
    const { ask } = await fail({ onError: "local", nodes: 5 }, async ({ ask }) => {
      for (const id of ["a", "b", "c"]) await ask("take", slot(id));
    });
    for (const id of ["a", "b", "c"]) expect(await ask("extend", slot(id))).toMatchObject({ allowed: true, inUse: 3 });
    expect(await ask("take", slot("d"))).toMatchObject({ allowed: false });
  });

  it("of other servers are extended all the same", async () => {
    const clock = new ManualClock(TODAY_MS);
    const memory = new MemoryStore({ clock });
    const nodes = { of: (key: string) => (key.startsWith("up") ? "up" : "down"), all: () => ["up", "down"] };
    const inner: Store = {
      clock,
      nodes,
      async apply(action, operations, options) {
        if (operations.some(({ key }) => nodes.of(key) === "down")) throw new StoreError("HG_STORE_TIMEOUT", "is down");
        return memory.apply(action, operations, options);
      },
    };
    const store = resilient(inner, { clock, onError: "deny" });
    const answers = await store.apply("extend", [slot("a", "up1"), slot("b", "down"), slot("c", "up2")]);
    expect(answers.map(({ allowed, degraded }) => [allowed, degraded])).toEqual([
      [true, false],
      [false, true],
      [true, false],
    ]);
  });
});

describe("units that are taken together with slots", () => {
  const units: Rule = { name: "units", limit: gcra("10/m") };

  it("count in a cache", async () => {
    const clock = new ManualClock(TODAY_MS);
    const store = cached(new MemoryStore({ clock }), { clock, flushMs: 1_000, confirm: false });
    const both = (id: string): Operation[] => [slot(id), { rule: units, key: "k", cost: 4 }];
    await store.apply("take", [{ rule: units, key: "k", cost: 1 }]);
    expect((await store.apply("take", both("a"))).map(({ allowed }) => allowed)).toEqual([true, true]);
    expect((await store.apply("take", both("b"))).map(({ allowed }) => allowed)).toEqual([true, true]);
    const [answer] = await store.apply("take", [{ rule: units, key: "k", cost: 2 }]);
    expect(answer).toMatchObject({ allowed: false, remaining: 1 });
    await store.close();
  });
});

describe("a rule that limits concurrent tasks", () => {
  it("cannot be leased", () => {
    const store = leased(new MemoryStore(), { rules: ["slots"] });
    expect(() => store.open(slots)).toThrow(expect.objectContaining({ name: "HeadgateError", field: "rules.slots" }));
  });
});
