import { describe, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { Fraction } from "../../../test/algorithms/fraction.ts";
import { isExact, meterLimits } from "../../../test/algorithms/limits.ts";
import { LeakyBucketModel } from "../../../test/algorithms/models/leaky-bucket.ts";

describe("leaky_bucket", () => {
  it("decides as a level in exact arithmetic", () => {
    followsModel(
      meterLimits("leaky_bucket").filter(isExact),
      ({ limit, window, burst }) => new LeakyBucketModel(Fraction.of(burst), Fraction.of(limit, window)),
    );
  });
});
