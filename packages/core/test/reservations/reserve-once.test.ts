import { expect, it } from "vitest";
import { fixedWindow } from "../../src/index.ts";
import { Reservations } from "../../src/reservations/reservations.ts";
import { ManualClock } from "../../src/testing/index.ts";
import { SharedStore } from "./fake-journal.ts";

const rule = { name: "tokens", limit: fixedWindow("1000/d") };
const operations = [{ rule, key: "team", cost: 400 }];
const options = { isUnattended: true, once: { idempotencyKey: "k", context: "reserve" } };

/** Two processes on a store whose journal is written by calls of its own, as in a cluster. */
function start() {
  const clock = new ManualClock(1_000_000);
  const store = new SharedStore(clock);
  const [first, second] = [new Reservations(store, { clock }), new Reservations(store, { clock })];
  const left = async () => (await store.apply("peek", [{ ...operations[0], cost: 0 }]))[0].remaining;
  return { clock, store, first, second, left };
}

it("a journal apart from the counters has a repeated reservation once, and not again when it has ended", async () => {
  const { clock, store, first, second, left } = start();
  const made = await first.reserve(operations, options);
  await clock.advance(1_000);
  const again = await second.reserve(operations, options);
  expect([again.id, again.deadlineMs]).toEqual([made.id, made.deadlineMs]);
  expect([store.journal.size, await left()]).toEqual([1, 600]);
  await (await second.find(made.id)).settle({ tokens: 100 });
  expect((await first.reserve(operations, options)).id).toBe(made.id);
  expect([store.journal.size, await left()]).toEqual([0, 900]);
});

it("a retry writes the entry of a reservation whose process died before it could", async () => {
  const { store, first, second, left } = start();
  store.journal.failure = new Error("is gone");
  await expect(first.reserve(operations, options)).rejects.toThrow("is gone");
  store.journal.failure = undefined;
  expect([store.journal.size, await left()]).toEqual([0, 600]);
  const made = await second.reserve(operations, options);
  expect([store.journal.has(made.id), await left()]).toEqual([true, 600]);
});
