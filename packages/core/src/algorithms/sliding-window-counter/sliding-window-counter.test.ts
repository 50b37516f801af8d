import { describe, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { windowLimits } from "../../../test/algorithms/limits.ts";
import { SlidingWindowCounterModel } from "../../../test/algorithms/models/sliding-window-counter.ts";

describe("sliding_window_counter", () => {
  it("decides as the estimate in exact arithmetic", () => {
    followsModel(
      windowLimits("sliding_window_counter"),
      ({ limit, window }) => new SlidingWindowCounterModel(limit, window),
    );
  });
});
