import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { admitted, expectBound, UNBOUNDED } from "../../../test/algorithms/admitted.ts";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { bucketedLimits, windowLimits } from "../../../test/algorithms/limits.ts";
import { BucketedWindowModel } from "../../../test/algorithms/models/bucketed-window.ts";
import { SlidingWindowLogModel } from "../../../test/algorithms/models/sliding-window-log.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { dealings, manyRequests, play } from "../../../test/algorithms/traffic.ts";
import { bucketedWindow } from "../../algorithms/registry.ts";
import { makeLimit } from "../../limits/limit.ts";

describe("bucketed_window", patience, () => {
  it("decides as a list of buckets", () => {
    followsModel(
      bucketedLimits(),
      ({ limit, window, bucketWidth }) => new BucketedWindowModel(limit, window, bucketWidth),
    );
  });

  it("lets no more than the limit through in any span that is a bucket shorter than the window", () => {
    const property = fc.property(bucketedLimits(), manyRequests, (limit, traffic) => {
      const most = BigInt(limit.limit);
      const span = limit.window - limit.bucketWidth;
      expectBound(admitted(new Row(limit), traffic), (between) => (between <= span ? most : UNBOUNDED));
    });
    fc.assert(property, runs(150));
  });

  it("needs no more room than its buckets do, whatever comes", () => {
    const property = fc.property(bucketedLimits(), dealings, (limit, traffic) => {
      const row = new Row(limit);
      play(row, traffic);
      const buckets = Math.ceil(limit.window / limit.bucketWidth) + 1;
      // Five numbers, and two for each bucket; room is doubled when it runs out.
      expect(row.state.length).toBeLessThanOrEqual(5 + 2 * 2 * buckets);
    });
    fc.assert(property, runs(150));
  });

  it("keeps the times that it knew exactly when its buckets become wide", () => {
    const row = new Row(bucketedWindow("100/s", { exact: true }));
    for (let i = 0; i < 32; i += 1) row.take(i * 1_000, 1);
    row.limit = bucketedWindow("100/s");
    row.take(500_000, 1);
    expect([999_999, 1_000_000, 1_030_000, 1_031_000].map((now) => row.ask(now, 0).remaining)).toEqual([
      67, 68, 98, 99,
    ]);
  });
});

describe("bucketed_window, exact", patience, () => {
  const limits = windowLimits("bucketed_window");

  it("decides as a list of all admissions", () => {
    followsModel(limits, ({ limit, window }) => new SlidingWindowLogModel(limit, window));
  });

  it("decides as a sliding window log, penalties and refunds included", () => {
    const property = fc.property(limits, dealings, (limit, traffic) => {
      const log = new Row(makeLimit({ ...limit, algorithm: "sliding_window_log" }));
      const row = new Row(limit);
      const answers: unknown[] = [];
      const logged: unknown[] = [];
      play(row, traffic, (...answer) => answers.push(answer));
      play(log, traffic, (...answer) => logged.push(answer));
      expect(answers).toEqual(logged);
    });
    fc.assert(property, runs(200));
  });

  it("lets no more than the limit through in any span of a window", () => {
    const property = fc.property(limits, manyRequests, (limit, traffic) => {
      const most = BigInt(limit.limit);
      expectBound(admitted(new Row(limit), traffic), (span) => (span < limit.window ? most : UNBOUNDED));
    });
    fc.assert(property, runs(150));
  });
});
