import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { coarseLimits } from "../../test/algorithms/limits.ts";
import { Row } from "../../test/algorithms/row.ts";
import { limitFromSpec } from "../limits/spec.ts";

describe("a coarse limit", patience, () => {
  it("computes waits to the microsecond, though a quotient of doubles slips now and then", () => {
    const shares = fc.double({ min: 0.01, max: 1, noNaN: true });
    const property = fc.property(coarseLimits, shares, shares, (limit, first, second) => {
      const row = new Row(limit);
      const { resetAfter } = row.take(0, Math.ceil(first * limit.burst));
      expect(row.ask(resetAfter, 0).remaining).toBe(limit.burst);
      expect(row.ask(resetAfter - 1, 0).remaining).toBeLessThan(limit.burst);
      const cost = Math.ceil(second * limit.burst);
      const { allowed, retryAfter } = row.ask(1, cost);
      if (allowed) return;
      expect(row.ask(1 + retryAfter, cost).allowed).toBe(true);
      expect(row.ask(retryAfter, cost).allowed).toBe(false);
    });
    fc.assert(property, runs(20_000));
  });

  it("loses less than a unit for each charge, and gains nothing", () => {
    // 100 TB in thirty days, counted in bytes: 38.58 of them each microsecond.
    const row = new Row(limitFromSpec({ algorithm: "token_bucket", limit: 1e14, window: 2_592_000 }));
    expect(row.limit.coarse).toBe(true);
    row.take(0, 1e14);
    let taken = 0;
    for (let now = 1; now <= 100_000; now += 1) {
      const whole = Math.floor(row.ask(now, 0).remaining);
      taken += whole;
      row.take(now, whole);
    }
    const came = (1e14 / 2_592_000_000_000) * 100_000;
    expect(taken).toBeLessThanOrEqual(came);
    expect(taken).toBeGreaterThan(came - 0.1 * 100_000);
  });
});
