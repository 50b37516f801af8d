import { describe, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { bucketedLimits, exactBucketedLimits } from "../../../test/algorithms/limits.ts";
import { BucketedWindowModel } from "../../../test/algorithms/models/bucketed-window.ts";
import { SlidingWindowLogModel } from "../../../test/algorithms/models/sliding-window-log.ts";

describe("bucketed_window", () => {
  it("decides as a list of buckets", () => {
    followsModel(
      bucketedLimits,
      ({ limit, window, bucketWidth }) => new BucketedWindowModel(limit, window, bucketWidth),
    );
  });
  it("decides as a log when it is exact", () => {
    followsModel(exactBucketedLimits, ({ limit, window }) => new SlidingWindowLogModel(limit, window));
  });
});
