import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { admitted, expectBound, UNBOUNDED } from "../../../test/algorithms/admitted.ts";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { windowLimits } from "../../../test/algorithms/limits.ts";
import { SlidingWindowCounterModel } from "../../../test/algorithms/models/sliding-window-counter.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { manyRequests } from "../../../test/algorithms/traffic.ts";
import { slidingWindow } from "../../algorithms/registry.ts";

describe("sliding_window_counter", patience, () => {
  const limits = windowLimits("sliding_window_counter");

  it("decides as the estimate in exact arithmetic", () => {
    followsModel(limits, ({ limit, window }) => new SlidingWindowCounterModel(limit, window));
  });

  it("lets less than twice the limit through in any span of a window", () => {
    const property = fc.property(limits, manyRequests, (limit, traffic) => {
      const most = 2n * BigInt(limit.limit) - 1n;
      expectBound(admitted(new Row(limit), traffic), (span) => (span < limit.window ? most : UNBOUNDED));
    });
    fc.assert(property, runs(150));
  });

  it("waits for the first instant that passes, which is not the end of the window", () => {
    const row = new Row(slidingWindow("10/s"));
    row.take(500_000, 10);
    // In this window: half of it has to fade.
    expect(row.take(1_000_000, 5).retryAfter).toBe(500_000);
    // In the next one: what fills this window now has to fade there.
    expect(row.take(600_000, 1).retryAfter).toBe(500_000);
    expect(row.take(600_000, 10).retryAfter).toBe(1_400_000);
  });
});
