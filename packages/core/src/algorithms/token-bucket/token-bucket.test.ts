import { describe, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { Fraction } from "../../../test/algorithms/fraction.ts";
import { isExact, meterLimits } from "../../../test/algorithms/limits.ts";
import { TokenBucketModel } from "../../../test/algorithms/models/token-bucket.ts";

describe("token_bucket", () => {
  it("decides as tokens counted in exact arithmetic", () => {
    followsModel(
      meterLimits("token_bucket").filter(isExact),
      ({ limit, window, burst }) => new TokenBucketModel(Fraction.of(burst), Fraction.of(limit, window)),
    );
  });
});
