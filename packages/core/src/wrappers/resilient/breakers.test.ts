import { describe, expect, it } from "vitest";
import {
  type Action,
  type Answer,
  MemoryStore,
  type Operation,
  resilient,
  type Store,
  StoreError,
  tokenBucket,
} from "../../index.ts";
import type { StoreNodes } from "../../stores/store.ts";
import { ManualClock } from "../../testing/index.ts";
import type { DegradedChange } from "../../wrappers/resilient/breaker.ts";

const rule = { name: "r", limit: tokenBucket("1000/s") };

/** A store whose keys are on the server that they begin with; servers can be down. */
class Sharded implements Store {
  readonly down = new Set<string>();
  servers = ["a", "b", "c"];
  calls: string[] = [];
  readonly nodes: StoreNodes = { of: (key) => key.split("-")[0], all: () => this.servers };
  private readonly memory = new MemoryStore();

  async apply(action: Action, operations: readonly Operation[]): Promise<readonly Answer[]> {
    const node = this.nodes.of(operations[0].key);
    this.calls.push(node);
    if (this.down.has(node)) throw new StoreError("HG_STORE_UNREACHABLE", `${node} is down`);
    return this.memory.apply(action, operations);
  }
}

function scene() {
  const clock = new ManualClock(1_700_000_000_000);
  const inner = new Sharded();
  const changes: DegradedChange[] = [];
  const store = resilient(inner, { clock, onDegraded: (change) => changes.push(change) });
  const sourceOf = async (key: string): Promise<string> =>
    (await store.apply("take", [{ rule, key, cost: 1 }]))[0].source;
  return { clock, inner, changes, store, sourceOf };
}

describe("a resilient store of several servers", () => {
  it("gives up the one that fails, and lets the others decide", async () => {
    const { inner, changes, store, sourceOf } = scene();
    inner.down.add("a");
    // In turns, so that answers come between the failures.
    for (let i = 0; i < 5; i += 1) {
      expect([await sourceOf("a-1"), await sourceOf("b-1"), await sourceOf("c-1")]).toEqual([
        "fallback",
        "store",
        "store",
      ]);
    }
    expect(store.stats).toMatchObject({ breaker: "open", openNodes: ["a"] });
    expect(changes).toMatchObject([
      { degraded: true, node: "a", cause: { message: expect.stringMatching(/a is down/) } },
    ]);
    inner.calls = [];
    for (const key of ["a-1", "a-2", "b-2", "c-2"]) await sourceOf(key);
    expect(inner.calls).toEqual(["b", "c"]);
  });

  it("takes it back when its probe is answered, whatever the others do", async () => {
    const { clock, inner, changes, store, sourceOf } = scene();
    inner.down.add("a").add("b");
    for (let i = 0; i < 5; i += 1) await Promise.all([sourceOf("a-1"), sourceOf("b-1")]);
    expect(store.stats.openNodes).toEqual(["a", "b"]);
    inner.down.delete("a");
    await clock.advance(250);
    expect([await sourceOf("a-1"), await sourceOf("b-1")]).toEqual(["store", "fallback"]);
    expect(store.stats).toMatchObject({ breaker: "open", openNodes: ["b"] });
    expect(changes.at(-1)).toEqual({ degraded: false, node: "a", afterMs: 250 });
  });

  it("forgets one that has left, and reports that it is no longer degraded", async () => {
    const { inner, changes, store, sourceOf } = scene();
    inner.down.add("a");
    for (let i = 0; i < 5; i += 1) await sourceOf("a-1");
    inner.servers = ["b", "c", "d"];
    expect(await sourceOf("d-1")).toBe("store");
    expect(store.stats).toMatchObject({ breaker: "closed", openNodes: [] });
    expect(changes.map(({ degraded, node }) => [degraded, node])).toEqual([
      [true, "a"],
      [false, "a"],
    ]);
  });

  it("has one breaker while it is not known where keys are, until it is", async () => {
    const { inner, changes, store, sourceOf } = scene();
    inner.servers = [];
    inner.down.add("");
    for (let i = 0; i < 5; i += 1) await sourceOf(`-${i}`);
    expect(store.stats).toMatchObject({ breaker: "open", openNodes: [""] });
    expect(changes.map(({ degraded, node }) => [degraded, node])).toEqual([[true, undefined]]);
    inner.servers = ["a"];
    expect(await sourceOf("a-1")).toBe("store");
    expect(store.stats.openNodes).toEqual([]);
  });
});
