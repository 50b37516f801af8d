import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { isExact, meterLimits } from "../../../test/algorithms/limits.ts";
import { burstAndRate, keepsMeterBound } from "../../../test/algorithms/meters.ts";
import { GcraModel } from "../../../test/algorithms/models/gcra.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { dealings, play } from "../../../test/algorithms/traffic.ts";
import { gcra } from "../../algorithms/registry.ts";
import { makeLimit } from "../../limits/limit.ts";

describe("gcra", patience, () => {
  it("decides as theoretical arrival times in exact arithmetic", () => {
    followsModel(meterLimits("gcra").filter(isExact), (limit) => new GcraModel(...burstAndRate(limit)));
  });

  it("lets no more than the burst and the rate through in any span", () => {
    keepsMeterBound(meterLimits("gcra"));
  });

  it.each(["token_bucket", "leaky_bucket"] as const)("decides as a %s of the same rate and burst", (algorithm) => {
    const property = fc.property(meterLimits("gcra"), dealings, (limit, traffic) => {
      const twin = new Row(makeLimit({ ...limit, algorithm }));
      const answers: unknown[] = [];
      const twinAnswers: unknown[] = [];
      play(new Row(limit), traffic, (now, cost, answer) => answers.push([now, cost, answer]));
      play(twin, traffic, (now, cost, { remaining, ...answer }) => {
        twinAnswers.push([now, cost, { ...answer, remaining: Math.floor(remaining) }]);
      });
      expect(answers).toEqual(twinAnswers);
    });
    fc.assert(property, runs(200));
  });

  it("has 2 left of a burst of 5 after three were taken", () => {
    const row = new Row(gcra("10/s", { burst: 5 }));
    expect([1, 2, 3].map((i) => row.take(i, 1).remaining)).toEqual([4, 3, 2]);
  });
});
