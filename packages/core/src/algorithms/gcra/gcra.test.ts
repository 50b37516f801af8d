import { describe, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { Fraction } from "../../../test/algorithms/fraction.ts";
import { isExact, meterLimits } from "../../../test/algorithms/limits.ts";
import { GcraModel } from "../../../test/algorithms/models/gcra.ts";

describe("gcra", () => {
  it("decides as theoretical arrival times in exact arithmetic", () => {
    followsModel(
      meterLimits("gcra").filter(isExact),
      ({ limit, window, burst }) => new GcraModel(Fraction.of(burst), Fraction.of(limit, window)),
    );
  });
});
