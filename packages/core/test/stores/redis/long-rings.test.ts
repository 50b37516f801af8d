import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, it } from "vitest";
import type { Action, Limit, Rule } from "../../../src/index.ts";
import { makeLimit } from "../../../src/limits/limit.ts";
import { Differential } from "./differential.ts";
import { useRedis } from "./redis.ts";

const redis = useRedis();

const WINDOW = 10_000_000;
const LARGEST = Number.MAX_SAFE_INTEGER;

/** The same request again and again, with the clock advanced each time. */
interface Phase {
  readonly action: Action;
  readonly times: number;
  readonly gap: number;
  readonly cost: number;
}

const limits: fc.Arbitrary<Limit> = fc
  .record({
    algorithm: fc.constantFrom("sliding_window_log", "bucketed_window"),
    limit: fc.constantFrom(300, 5_000, 2 ** 40, LARGEST),
    bucketWidth: fc.constantFrom(1, 1, 10_000, 2_999),
  })
  .map(({ algorithm, limit, bucketWidth }) =>
    makeLimit({ algorithm, limit, window: WINDOW, bucketWidth: algorithm === "bucketed_window" ? bucketWidth : 1 }),
  );

const phases: fc.Arbitrary<Phase> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      action: fc.constantFrom("take", "take", "take", "charge", "penalize"),
      times: fc.integer({ min: 50, max: 600 }),
      gap: fc.constantFrom(1, 700, 5_000, 20_000),
      cost: fc.constantFrom(1, 1, 2, 7),
    }),
  },
  // Totals start over before they leave the exact integers.
  {
    weight: 1,
    arbitrary: fc.record({
      action: fc.constantFrom("take", "penalize"),
      times: fc.integer({ min: 3, max: 30 }),
      gap: fc.integer({ min: 1, max: WINDOW }),
      cost: fc.constantFrom(2 ** 50, 2 ** 51 + 1),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      action: fc.constantFrom("refund", "peek", "take"),
      times: fc.constantFrom(1, 5),
      gap: fc.integer({ min: -WINDOW, max: WINDOW }),
      cost: fc.oneof(fc.nat(1_000), fc.constantFrom(2 ** 40, LARGEST)),
    }),
  },
);

describe("A row that grows, in Redis and in memory", patience, () => {
  it("is the same to the bit however long it is, and starts its totals over at the same time", () =>
    fc.assert(fc.asyncProperty(limits, fc.array(phases, { minLength: 1, maxLength: 8, size: "max" }), play), {
      ...runs(8),
      examples: [
        [
          log(5_000),
          [each("take", 3_000), each("take", 5, WINDOW / 8), each("take", 2_000), each("refund", 300, 1, 9)],
        ],
        [log(LARGEST), [each("take", 300), each("take", 20, WINDOW / 5, 2 ** 50), each("take", 200)]],
      ],
    }));
});

describe("A full row of finer buckets than its limit has now", () => {
  it.each([2, 4, 8, 16])("has as much room for penalties in Redis as in memory: %s marks", async (marks) => {
    const differential = new Differential(redis);
    const bucketed = (bucketWidth: number): Rule => ({
      name: "finer",
      limit: makeLimit({ algorithm: "bucketed_window", limit: 100, window: WINDOW, bucketWidth }),
    });
    differential.now = 1_790_000_000_000_000;
    for (let i = 0; i < marks; i += 1) {
      differential.now += 1;
      differential.ask("take", [{ rule: bucketed(1), key: "k", cost: 1 }]);
      await differential.compare();
    }
    for (let i = 0; i < marks; i += 1) {
      differential.now += WINDOW / marks;
      differential.ask("penalize", [{ rule: bucketed(WINDOW / marks), key: "k", cost: 200 }]);
      await differential.compare();
    }
  });
});

function log(limit: number): Limit {
  return makeLimit({ algorithm: "sliding_window_log", limit, window: WINDOW });
}

function each(action: Action, times: number, gap = 1_000, cost = 1): Phase {
  return { action, times, gap, cost };
}

async function play(limit: Limit, list: readonly Phase[]): Promise<void> {
  // One by one: each is sent at once, and with its own time.
  const differential = new Differential(redis, 1);
  const rule = { name: "long", limit };
  let now = 1_790_000_000_000_000;
  for (const { action, times, gap, cost } of list) {
    for (let i = 0; i < times; i += 1) {
      now += gap;
      differential.now = now;
      differential.ask(action, [{ rule, key: "k", cost }]);
      if (i % 200 === 199) await differential.compare();
    }
    await differential.compare();
  }
}
