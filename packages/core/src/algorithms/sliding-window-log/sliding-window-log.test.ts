import { describe, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { windowLimits } from "../../../test/algorithms/limits.ts";
import { SlidingWindowLogModel } from "../../../test/algorithms/models/sliding-window-log.ts";

describe("sliding_window_log", () => {
  it("decides as a list of all admissions", () => {
    followsModel(windowLimits("sliding_window_log"), ({ limit, window }) => new SlidingWindowLogModel(limit, window));
  });
});
