import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { admitted, expectBound, UNBOUNDED } from "../../../test/algorithms/admitted.ts";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { windowLimits } from "../../../test/algorithms/limits.ts";
import { FixedWindowModel } from "../../../test/algorithms/models/fixed-window.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { manyRequests } from "../../../test/algorithms/traffic.ts";
import { fixedWindow } from "../../algorithms/registry.ts";

describe.each(["clock", "request"] as const)("fixed_window by %s", patience, (anchor) => {
  const limits = windowLimits("fixed_window", anchor);

  it("decides as a count of the admissions in each window", () => {
    followsModel(limits, ({ limit, window }) => new FixedWindowModel(limit, window, anchor));
  });

  it("lets no more than twice the limit through in any span of a window", () => {
    const property = fc.property(limits, manyRequests, (limit, traffic) => {
      const twice = 2n * BigInt(limit.limit);
      expectBound(admitted(new Row(limit), traffic), (span) => (span < limit.window ? twice : UNBOUNDED));
    });
    fc.assert(property, runs(150));
  });
});

describe("fixed_window", patience, () => {
  it("by the clock lets no more than the limit through in any window of the clock", () => {
    const property = fc.property(windowLimits("fixed_window", "clock"), manyRequests, (limit, traffic) => {
      const counts = new Map<number, bigint>();
      for (const { time, units } of admitted(new Row(limit), traffic)) {
        const number = Math.floor(time / limit.window);
        counts.set(number, (counts.get(number) ?? 0n) + units);
      }
      for (const count of counts.values()) expect(count).toBeLessThanOrEqual(BigInt(limit.limit));
    });
    fc.assert(property, runs(150));
  });

  it("by request opens its window with a request that was allowed, and no hit makes it last longer", () => {
    const row = new Row(fixedWindow("2/s", { anchor: "request" }));
    expect(row.take(400_000, 3).allowed).toBe(false);
    expect(row.take(700_000, 1).resetAfter).toBe(1_000_000);
    expect(row.take(1_500_000, 1).resetAfter).toBe(200_000);
    expect(row.take(1_699_999, 1)).toMatchObject({ allowed: false, retryAfter: 1 });
    expect(row.take(1_700_000, 1)).toMatchObject({ allowed: true, resetAfter: 1_000_000 });
  });
});
