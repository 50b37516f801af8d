import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { rateAlgorithms } from "../../../src/algorithms/lookup.ts";
import type { Answer, Limit, Operation, Rule } from "../../../src/index.ts";
import { makeLimit } from "../../../src/limits/limit.ts";
import { windowEnd } from "../../../src/limits/window-end.ts";
import { Differential } from "./differential.ts";
import { useRedis } from "./redis.ts";
import { type Move, type Part, type Trial, trials } from "./trials.ts";

const names = rateAlgorithms.map(({ name }) => name);
const redis = useRedis();

describe("RedisStore against MemoryStore", patience, () => {
  it.each(names)("answers and keeps the same to the bit: %s", (algorithm) =>
    fc.assert(fc.asyncProperty(trials(algorithm, names), play), runs(100)),
  );
});

it("a counter's wait is found although the quotient that it begins with is one too low", async () => {
  const [room, window] = [3_005_192_543, 1_558_108_473];
  const limit = makeLimit({ algorithm: "sliding_window_counter", limit: 3 * room, window });
  const differential = new Differential(redis);
  const units = (cost: number): Operation[] => [{ rule: { name: "rule", limit }, key: "k", cost }];
  differential.now = 1_000_000 * window;
  differential.ask("take", units(3 * room));
  await differential.compare();
  differential.now += window;
  // All of them have faded to a third when two thirds of the window are over.
  const [denied] = differential.ask("take", units(2 * room));
  expect(denied).toMatchObject({ allowed: false, retryAfter: window - window / 3 });
  await differential.compare();
});

async function play({ rules, start, ticks }: Trial): Promise<void> {
  const differential = new Differential(redis);
  const named = rules.map((limits, i) => limits.map((limit) => ({ name: `rule${i}`, limit })));
  const told = { retry: start, reset: start };
  let now = start;
  for (const { move, asks } of ticks) {
    now = moved(now, move, rules[0][0], told);
    differential.now = now;
    for (const { action, parts } of asks) {
      const answers = differential.ask(
        action,
        parts.map((part) => operation(part, named[part.rule], differential)),
      );
      for (const answer of answers) listen(answer, now, told);
    }
    await differential.compare();
  }
}

/** Beyond it, two windows ahead might not be exact. */
const LATEST = 2 ** 51;

function moved(now: number, move: Move, limit: Limit, told: { retry: number; reset: number }): number {
  const width = limit.bucketWidth > 1 ? limit.bucketWidth : limit.window;
  const times = {
    ticks: ({ by = 0 }) => now + by,
    windows: ({ by = 0 }) => now + Math.floor(by * limit.window),
    retry: ({ by = 0 }) => told.retry + by,
    reset: ({ by = 0 }) => told.reset + by,
    edge: ({ by = 0 }) =>
      (limit.calendar === undefined ? (Math.floor(now / width) + 1) * width : windowEnd(limit, now)) + by,
  };
  return Math.max(0, Math.min(times[move.to](move), LATEST));
}

function operation({ limit, key, cost }: Part, rules: readonly Rule[], differential: Differential): Operation {
  const asked = { rule: rules[limit % rules.length], key, cost: 0 };
  if ("units" in cost) return { ...asked, cost: cost.units };
  const whole = Math.floor(cost.of === "left" ? differential.remaining(asked) : asked.rule.limit.burst);
  return { ...asked, cost: Math.max(0, Math.min(whole + cost.more, Number.MAX_SAFE_INTEGER)) };
}

function listen({ retryAfter, resetAfter }: Answer, now: number, told: { retry: number; reset: number }): void {
  if (retryAfter > 0 && Number.isFinite(retryAfter)) told.retry = now + retryAfter;
  if (resetAfter > 0) told.reset = now + resetAfter;
}
