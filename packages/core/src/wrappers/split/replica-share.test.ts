import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type AlgorithmName,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingWindow,
  tokenBucket,
} from "../../algorithms/registry.ts";
import { type Limit, LONGEST_WINDOW, makeLimit } from "../../limits/limit.ts";
import { limitFromSpec } from "../../limits/spec.ts";
import { shareOf } from "./replica-share.ts";

const meters: AlgorithmName[] = ["token_bucket", "leaky_bucket", "gcra"];
const windows: AlgorithmName[] = ["fixed_window", "sliding_window_log", "sliding_window_counter", "bucketed_window"];
const units = fc.oneof(
  fc.integer({ min: 1, max: 50 }),
  fc.maxSafeNat().map((units) => Math.max(1, units)),
);
const window = fc.integer({ min: 1, max: LONGEST_WINDOW });
const anyLimit = fc
  .oneof(
    fc.record({ algorithm: fc.constantFrom(...meters), limit: units, window, burst: units }),
    fc.record({ algorithm: fc.constantFrom(...windows), limit: units, window }),
  )
  .filter(
    (fields) => (("burst" in fields ? fields.burst : fields.limit) / fields.limit) * fields.window <= LONGEST_WINDOW,
  )
  .map((fields) => makeLimit(fields));

function shares(limit: Limit, of: number): Limit[] {
  return Array.from({ length: of }, (_, rank) => shareOf(limit, { rank, of }));
}

function sum(numbers: readonly number[]): bigint {
  return numbers.reduce((total, number) => total + BigInt(number), 0n);
}

describe("the shares of a limit", () => {
  it("sum to it, and to its burst, and differ by one at most", () => {
    fc.assert(
      fc.property(units, units, fc.integer({ min: 1, max: 40 }), (limit, burst, of) => {
        const all = shares(
          makeLimit({ algorithm: "gcra", limit, window: 1_000_000, burst: Math.min(burst, limit) }),
          of,
        );
        // One with no burst has no limit either: it could never let anything pass.
        if (burst >= of && limit >= of) {
          expect(sum(all.map((share) => share.limit))).toBe(BigInt(limit));
          expect(sum(all.map((share) => share.burst))).toBe(BigInt(Math.min(burst, limit)));
          expect(all[0].limit - all[of - 1].limit).toBeLessThanOrEqual(1);
        }
        expect(sum(all.map((share) => share.limit)) <= BigInt(limit)).toBe(true);
        expect(sum(all.map((share) => share.burst)) <= BigInt(burst)).toBe(true);
      }),
    );
  });

  it.each([
    [10, 3, [4, 3, 3]],
    [2, 3, [1, 1, 0]],
    [9007199254740991, 2, [4503599627370496, 4503599627370495]],
    [7, 1, [7]],
  ])("of %d among %d are %j", (limit, of, expected) => {
    expect(shares(fixedWindow({ limit, windowMs: 1000 }), of).map((share) => share.limit)).toEqual(expected);
  });

  it("never pass the whole, whatever mixture of numbers of replicas holds for a moment", () => {
    // The two conditions of beat.lua: ranks that differ, and no replica that assumes fewer than there are.
    const place = fc.record({ rank: fc.nat({ max: 30 }), more: fc.nat({ max: 10 }) });
    const places = fc.uniqueArray(place, { selector: ({ rank }) => rank, minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(places, fc.integer({ min: 1, max: 200 }), (all, limit) => {
        const whole = slidingWindow({ limit, windowMs: 1000 });
        const held = all.map(({ rank, more }) => shareOf(whole, { rank, of: all.length + more }).limit);
        expect(sum(held) <= BigInt(limit)).toBe(true);
      }),
    );
  });

  it("are limits for every limit that there is, of the same window", () => {
    fc.assert(
      fc.property(anyLimit, fc.integer({ min: 1, max: 1000 }), fc.nat({ max: 999 }), (limit, of, rank) => {
        const share = shareOf(limit, { rank: rank % of, of });
        expect(share).toMatchObject({ algorithm: limit.algorithm, window: limit.window, anchor: limit.anchor });
        expect(share.capacity).toBeGreaterThanOrEqual(0);
        expect(share.drain / share.unit).toBeLessThanOrEqual(Math.max(limit.drain / limit.unit, 1 / limit.window));
      }),
    );
  });

  it("have bursts of their own", () => {
    const [first, second] = shares(tokenBucket("100/m", { burst: 11 }), 2);
    expect([first.limit, first.burst]).toEqual([50, 6]);
    expect([second.limit, second.burst]).toEqual([50, 5]);
  });

  it("are the limit itself for one alone", () => {
    const limit = limitFromSpec({ capacity: 5.5, refill_rate: 2 }, "config");
    expect(shareOf(limit, { rank: 0, of: 1 })).toBe(limit);
  });

  it("of nothing hold nothing", () => {
    for (const limit of [leakyBucket("2/s"), gcra("100/s", { burst: 2 }), fixedWindow("2/s")]) {
      expect(shareOf(limit, { rank: 2, of: 3 })).toMatchObject({ limit: 0, burst: 0, capacity: 0 });
    }
  });

  it("keep the rate of a capacity with a fraction, and its whole units", () => {
    const limit = limitFromSpec({ capacity: 5.5, refill_rate: 2 }, "config");
    const all = shares(limit, 2);
    expect(all.map(({ burst }) => burst)).toEqual([3, 2]);
    const perSecond = all.map(({ drain, unit }) => (1_000_000 * drain) / unit);
    expect(perSecond[0] + perSecond[1]).toBeCloseTo(2, 5);
    expect(perSecond[0] + perSecond[1]).toBeLessThanOrEqual(2);
    expect(shareOf(limitFromSpec({ capacity: 0.5, refill_rate: 2 }, "config"), { rank: 0, of: 2 }).capacity).toBe(0);
  });
});
