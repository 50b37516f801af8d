import { describe, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { windowLimits } from "../../../test/algorithms/limits.ts";
import { FixedWindowModel } from "../../../test/algorithms/models/fixed-window.ts";

describe.each(["clock", "request"] as const)("fixed_window by %s", (anchor) => {
  it("decides as a count of the admissions in each window", () => {
    followsModel(
      windowLimits("fixed_window", { anchor }),
      ({ limit, window }) => new FixedWindowModel(limit, window, anchor),
    );
  });
});
