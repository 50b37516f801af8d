import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { Row } from "../../test/algorithms/row.ts";
import { type Limit, makeLimit } from "./limit.ts";
import { limitFromSpec } from "./spec.ts";

function ofCapacity(capacity: number, refill_rate: number): Limit {
  return limitFromSpec({ capacity, refill_rate });
}

/** How long one token takes to come back to an empty bucket, in microseconds. */
function oneToken(limit: Limit): number {
  const row = new Row(limit);
  row.take(0, Math.floor(limit.burst));
  return row.ask(0, 1).retryAfter;
}

describe("the rate of a limit", patience, () => {
  it.each([
    [0.1, 10_000_000],
    [0.2, 5_000_000],
    [0.3, 3_333_334],
    [0.7, 1_428_572],
    [1, 1_000_000],
    [2.5, 400_000],
    [3, 333_334],
    [10, 100_000],
    [1e-3, 1_000_000_000],
    [1e6, 1],
    [5e6, 1],
    [100 / 60, 600_000],
    [1_000 / 3_600, 3_600_000],
    [1 / 3, 3_000_000],
    [2 / 3, 1_500_000],
  ])("of %d tokens each second brings one in %d microseconds", (refillRate, wait) => {
    expect(oneToken(ofCapacity(5, refillRate))).toBe(wait);
  });

  it("is kept to the last microsecond over a thousand refills", () => {
    const row = new Row(ofCapacity(1, 100 / 60));
    for (let i = 0; i < 1_000; i += 1) {
      if (i > 0) expect(row.ask(i * 600_000 - 1, 1).allowed).toBe(false);
      expect(row.take(i * 600_000, 1).allowed).toBe(true);
    }
  });

  it("is exact as a fraction of integers, in lowest terms", () => {
    expect(makeLimit({ algorithm: "gcra", limit: 3, window: 1_000_000 })).toMatchObject({ unit: 1_000_000, drain: 3 });
    expect(makeLimit({ algorithm: "gcra", limit: 10, window: 1_000_000, burst: 5 })).toMatchObject({
      unit: 100_000,
      drain: 1,
      capacity: 500_000,
    });
  });

  it("holds decimals of a capacity without a slip of binary", () => {
    expect(ofCapacity(4.35, 10_000)).toMatchObject({ unit: 100, capacity: 435 });
  });

  it("is never more than stated, and less by nothing that shows, where a burst is too large for exact parts", () => {
    const vast = fc.record({
      limit: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      window: fc.integer({ min: 1, max: 2 ** 42 }),
    });
    const property = fc.property(vast, (rate) => {
      const { limit, window, burst, unit, drain, capacity } = makeLimit({ algorithm: "gcra", ...rate });
      expect(Number.isInteger(unit)).toBe(true);
      expect(capacity).toBe(burst * unit);
      expect(capacity).toBeLessThanOrEqual(Math.max(burst, 2 ** 50));
      const share = (drain / unit) * (window / limit);
      expect(share).toBeGreaterThan(1 - 2 ** -48);
      expect(share).toBeLessThan(1 + 2 ** -51);
    });
    fc.assert(property, runs(1_000));
  });
});

describe("a limit", () => {
  it("cannot be changed by its recipients", () => {
    expect(Object.isFrozen(makeLimit({ algorithm: "gcra", limit: 3, window: 1 }))).toBe(true);
  });

  it("has one shape, whatever its algorithm", () => {
    const shapes = [
      makeLimit({ algorithm: "gcra", limit: 3, window: 1 }),
      makeLimit({ algorithm: "fixed_window", limit: 3, window: 1, anchor: "request" }),
      ofCapacity(1.5, 0.1),
    ].map((limit) => Object.keys(limit));
    expect(shapes[1]).toEqual(shapes[0]);
    expect(shapes[2]).toEqual(shapes[0]);
  });
});
