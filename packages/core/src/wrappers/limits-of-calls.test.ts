import { describe, expect, it } from "vitest";
import { LeasedNode } from "../../test/wrappers/leased/leased-node.ts";
import {
  cached,
  fixedWindow,
  type Limit,
  leased,
  MemoryStore,
  type Operation,
  type Rule,
  resilient,
  type Store,
  StoreError,
} from "../index.ts";
import { ManualClock } from "../testing/index.ts";

const api: Rule = { name: "api", limit: fixedWindow("10/h") };
const twenty = fixedWindow("20/h");
const thirty = fixedWindow("30/h");
const KEY = "user:1";

function operation(cost: number, limit?: Limit, key = KEY): Operation {
  return { rule: api, key, cost, ...(limit && { limit }) };
}

describe("a lease", () => {
  it("serves only calls with the limit that it was made under", async () => {
    const node = new LeasedNode({ base: 3 });
    await node.take(api);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 3 });
    const calls = node.pool.calls.length;
    const [answer] = await node.store.apply("take", [operation(1, twenty)]);
    expect(answer).toMatchObject({ allowed: true, source: "store", remaining: 15 });
    expect(node.pool.calls.slice(calls)).toEqual(["take 1"]);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 3 });
  });

  it("is replaced when another limit comes twice in a row, and what it held is given back", async () => {
    const node = new LeasedNode({ base: 3 });
    await node.take(api);
    await node.store.apply("take", [operation(1, twenty)]);
    // The rule's own limit in between: the key has not changed its limit.
    await node.take(api);
    await node.store.apply("take", [operation(1, twenty)]);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 2 });
    await node.store.apply("take", [operation(1, twenty)]);
    await node.pool.clock.advance(1);
    expect(node.store.stats.returned).toBe(2);
    const [paid] = await node.store.apply("take", [operation(1, twenty)]);
    expect(paid.source).toBe("lease");
    expect((await node.store.apply("take", [operation(1)]))[0].source).toBe("store");
  });

  it("of one key is not touched by another key's limit", async () => {
    const node = new LeasedNode({ base: 3 });
    await node.take(api);
    for (let i = 0; i < 3; i += 1) await node.store.apply("take", [operation(1, thirty, "user:2")]);
    expect(node.store.leaseOf("api", KEY)).toMatchObject({ held: 3 });
  });
});

describe("a remembered denial", () => {
  it("serves only calls with the limit that it was made under", async () => {
    const { store, asked } = counting();
    const node = cached(store, { clock: store.clock });
    await node.apply("take", [operation(10)]);
    await node.apply("take", [operation(1)]);
    asked.length = 0;
    expect((await node.apply("take", [operation(1)]))[0]).toMatchObject({ allowed: false, source: "cache" });
    expect(asked).toEqual([]);
    expect((await node.apply("take", [operation(1, twenty)]))[0]).toMatchObject({ allowed: true, remaining: 9 });
    expect((await node.apply("take", [operation(1)]))[0]).toMatchObject({ allowed: false, source: "cache" });
    await node.close();
  });

  it("of other keys stays when a call for one key has its own limit", async () => {
    const { store, asked } = counting();
    const node = cached(store, { clock: store.clock });
    for (const key of ["a", "b"]) {
      await node.apply("take", [operation(10, undefined, key)]);
      await node.apply("take", [operation(1, undefined, key)]);
    }
    for (let i = 0; i < 3; i += 1) await node.apply("take", [operation(1, twenty, "b")]);
    asked.length = 0;
    expect((await node.apply("take", [operation(1, undefined, "a")]))[0]).toMatchObject({ allowed: false });
    expect(asked).toEqual([]);
    await node.close();
  });
});

describe("the fallback of resilient", () => {
  it("keeps a denial for calls with the same limit", async () => {
    const { store } = counting();
    const node = resilient(store, { onError: "allow", clock: store.clock });
    await node.apply("take", [operation(10)]);
    await node.apply("take", [operation(1)]);
    store.fails = true;
    expect((await node.apply("take", [operation(1)]))[0]).toMatchObject({ allowed: false, source: "fallback" });
    expect((await node.apply("take", [operation(1, twenty)]))[0]).toMatchObject({ allowed: true, source: "fallback" });
  });

  it("follows the rule's own onError before the option", async () => {
    const { store } = counting();
    const node = resilient(store, { onError: "allow", clock: store.clock });
    store.fails = true;
    const strict = { ...api, onError: "deny" } as const;
    expect((await node.apply("take", [{ rule: strict, key: KEY, cost: 1 }]))[0].allowed).toBe(false);
    expect((await node.apply("take", [operation(1)]))[0].allowed).toBe(true);
  });

  it("enforces a share of the call's limit", async () => {
    const { store } = counting();
    const node = resilient(store, { onError: "local", nodes: 2, clock: store.clock });
    store.fails = true;
    let admitted = 0;
    for (let i = 0; i < 30; i += 1) admitted += (await node.apply("take", [operation(1, thirty)]))[0].allowed ? 1 : 0;
    expect(admitted).toBe(15);
  });
});

describe("a limit of its own for every key", () => {
  const KEYS = 20_000;

  it.each([
    ["memory", (store: Store) => store],
    ["resilient", (store: Store) => resilient(store, { clock: new ManualClock() })],
    ["cached", (store: Store) => cached(store, { clock: new ManualClock() })],
    ["leased", (store: Store) => leased(store, { promoteAfter: 1_000, clock: new ManualClock() })],
  ])("makes no more of %s than keys of one limit do", async (_name, wrap) => {
    const memory = new MemoryStore({ clock: new ManualClock() });
    const store = wrap(memory);
    for (let i = 0; i < KEYS; i += 1) {
      const limit = fixedWindow({ limit: 10 + i, windowMs: 1_000 });
      await store.apply("take", [{ rule: { name: "api", limit: fixedWindow("10/s") }, key: `k${i}`, cost: 1, limit }]);
    }
    expect(Object.keys(memory.stats)).toEqual(["api"]);
  });
});

/** A memory store that records its calls and can fail. */
function counting() {
  const clock = new ManualClock();
  const memory = new MemoryStore({ clock });
  const asked: string[] = [];
  const store = {
    clock,
    fails: false,
    async apply(...[action, operations, options]: Parameters<Store["apply"]>) {
      if (store.fails) throw new StoreError("HG_STORE_UNREACHABLE", "is gone");
      asked.push(...operations.map(({ cost }) => `${action} ${cost}`));
      return memory.apply(action, operations, options);
    },
  };
  return { store, asked };
}
