import { expect, it, vi } from "vitest";
import { operation, remaining, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore, refused } from "../../../test/wrappers/cached/distant-store.ts";
import { cached, fixedWindow, MemoryStore } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

const START_MS = 1_700_000_000_000;
const ten = rule("ten", fixedWindow({ limit: 10, windowMs: 3_600_000 }));

it("close writes what is pending and waits for what is under way, and then closes the store", async () => {
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, 2);
  const left: number[] = [];
  const node = cached(
    Object.assign(store, {
      async close() {
        left.push(await remaining(store.memory, ten, "k"));
      },
    }),
    { clock },
  );
  node.apply("take", [operation(ten, "k", 3)]);
  await clock.advance(10.5);
  node.apply("take", [operation(ten, "k", 4)]);
  const closed = node.close();
  expect(left).toEqual([]);
  await clock.advance(2);
  await closed;
  expect(left).toEqual([3]);
});

it("close waits for what is under way, though nothing else is pending", async () => {
  const clock = new ManualClock(START_MS);
  const node = cached(new DistantStore(clock, 2), { confirm: false, clock });
  node.apply("take", [operation(ten, "k", 3)]);
  await clock.advance(10.5);
  let isClosed = false;
  const closed = node.close().then(() => {
    isClosed = true;
  });
  await clock.advance(1);
  expect(isClosed).toBe(false);
  await clock.advance(1);
  await closed;
});

it("close of a store that cannot be closed writes what is pending", async () => {
  const store = new MemoryStore();
  const node = cached(store, { confirm: false });
  node.apply("take", [operation(ten, "k", 3)]);
  await node.close();
  expect(await remaining(store, ten, "k")).toBe(7);
});

it("close during an outage waits for the peek that is under way, and then writes all, once", async () => {
  vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock, 2);
  const node = cached(store, { confirm: false, clock });
  store.fail(refused);
  for (const key of ["a", "b"]) node.apply("take", [operation(ten, key, 3)]);
  await clock.advance(21.5);
  store.said();
  store.fail();
  const closed = node.close();
  await clock.advance(10);
  await closed;
  expect(store.said()).toEqual(["penalize a 3", "penalize b 3"]);
});

it("after close nothing is tried again by itself", async () => {
  vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const clock = new ManualClock(START_MS);
  const store = new DistantStore(clock);
  const node = cached(store, { confirm: false, clock });
  store.fail(refused);
  node.apply("take", [operation(ten, "k", 3)]);
  await node.close();
  store.said();
  await clock.advance(1_000);
  expect(store.said()).toEqual([]);
  expect(node.stats).toMatchObject({ pendingUnits: 0, droppedUnits: { unwritten: 3 } });
});

it("its timers do not keep a process alive", () => {
  const before = process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const node = cached({ apply: () => new Promise<never>(() => {}) }, { confirm: false, flushMs: 60_000 });
  node.apply("take", [operation(ten, "k", 3)]);
  expect(process.getActiveResourcesInfo().filter((name) => name === "Timeout")).toHaveLength(before);
});
