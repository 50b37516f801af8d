import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, it } from "vitest";
import { admitted, expectBound, UNBOUNDED } from "../../../test/algorithms/admitted.ts";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { windowLimits } from "../../../test/algorithms/limits.ts";
import { SlidingWindowLogModel } from "../../../test/algorithms/models/sliding-window-log.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { manyRequests } from "../../../test/algorithms/traffic.ts";

describe("sliding_window_log", patience, () => {
  const limits = windowLimits("sliding_window_log");

  it("decides as a list of all admissions", () => {
    followsModel(limits, ({ limit, window }) => new SlidingWindowLogModel(limit, window));
  });

  it("lets no more than the limit through in any span of a window", () => {
    const property = fc.property(limits, manyRequests, (limit, traffic) => {
      const most = BigInt(limit.limit);
      expectBound(admitted(new Row(limit), traffic), (span) => (span < limit.window ? most : UNBOUNDED));
    });
    fc.assert(property, runs(150));
  });
});
