import { type Action, fixedWindow, MemoryStore, type Operation, type Store } from "headgate";
import { expect, it } from "vitest";
import { PartlySplit } from "./partly-split.ts";

const shared = { name: "shared", limit: fixedWindow("2/h") };
const own = { name: "own", limit: fixedWindow("3/h") };
const operations: readonly Operation[] = [shared, own].map((rule) => ({ rule, key: "k", cost: 1 }));

/** A store that answers later, as one behind a network does. */
function remote(store: Store): Store {
  return { apply: async (...request) => store.apply(...request) };
}

function stores(later: boolean) {
  const [split, strict] = [new MemoryStore(), new MemoryStore()];
  const both = new PartlySplit(split, later ? remote(strict) : strict, [false, true]);
  const left = async (action: Action = "peek", idempotencyKey?: string) => {
    const answers = await both.apply(action, operations, idempotencyKey === undefined ? undefined : { idempotencyKey });
    return answers.map(({ allowed, remaining }) => [allowed, remaining]);
  };
  return { split, strict, left };
}

it.each([false, true])(
  "charges both or none, and answers in the order of the limits (asynchronous: %s)",
  async (later) => {
    const { split, left } = stores(later);
    expect(await left("take")).toEqual([
      [true, 1],
      [true, 2],
    ]);
    expect(await left("take")).toEqual([
      [true, 0],
      [true, 1],
    ]);
    // The store denies, so the share is returned.
    expect((await left("take"))[0]).toEqual([false, 0]);
    expect(await left()).toEqual([
      [false, 0],
      [true, 1],
    ]);
    // The share denies, so the store is not charged.
    const used = stores(later);
    used.split.apply("penalize", [{ ...operations[1], cost: 3 }]);
    expect(await used.left("take")).toEqual([
      [true, 2],
      [false, 0],
    ]);
    expect(await used.left()).toEqual([
      [true, 2],
      [false, 0],
    ]);
    expect(split).not.toBe(used.split);
  },
);

it("returns the share once for a request that is sent again", async () => {
  const { strict, left } = stores(true);
  await left("take");
  strict.apply("penalize", [{ ...operations[0], cost: 2 }]);
  await left("take", "same");
  await left("take", "same");
  expect((await left())[1]).toEqual([true, 2]);
});
