import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { followsModel } from "../../../test/algorithms/follows-model.ts";
import { isExact, meterLimits } from "../../../test/algorithms/limits.ts";
import { burstAndRate, keepsMeterBound } from "../../../test/algorithms/meters.ts";
import { LeakyBucketModel } from "../../../test/algorithms/models/leaky-bucket.ts";
import { makeLimit } from "../../limits/limit.ts";
import { testLimiter } from "../../testing/index.ts";

describe("leaky_bucket", patience, () => {
  it("decides as a level in exact arithmetic", () => {
    followsModel(meterLimits("leaky_bucket").filter(isExact), (limit) => new LeakyBucketModel(...burstAndRate(limit)));
  });

  it("lets no more than the burst and the rate through in any span", () => {
    keepsMeterBound(meterLimits("leaky_bucket"));
  });

  const arrivals = fc.record({
    limit: fc.integer({ min: 1, max: 20 }),
    window: fc.integer({ min: 1_000, max: 10_000_000 }),
    burst: fc.integer({ min: 1, max: 20 }),
    steps: fc.array(
      fc.record({ share: fc.double({ min: 0, max: 0.4, noNaN: true }), cost: fc.integer({ min: 1, max: 3 }) }),
      { minLength: 1, maxLength: 60 },
    ),
  });

  it("reports the place in the queue and the delay that follow from the level", () => {
    const property = fc.property(arrivals, ({ limit, window, burst, steps }) => {
      const rule = makeLimit({ algorithm: "leaky_bucket", limit, window, burst });
      const model = new LeakyBucketModel(...burstAndRate(rule));
      const { limiter, clock } = testLimiter({ queue: rule });
      for (const { share, cost } of steps) {
        clock.set(Math.round(clock.now() + share * window) / 1_000);
        const decision = limiter.checkSync("queue", "key", { cost });
        const expected = model.take(BigInt(clock.now()), BigInt(cost));
        expect(decision.allowed).toBe(expected.allowed);
        expect(decision.queuePosition).toBeCloseTo(expected.allowed ? expected.queuePosition.toNumber() : 0, 9);
        expect(decision.delayMs).toBeCloseTo(expected.allowed ? expected.delay.toNumber() / 1_000 : 0, 6);
      }
    });
    fc.assert(property, runs(200));
  });

  it("lets requests leave at the rate and no faster, and keeps none longer than a full bucket takes to drain", () => {
    const property = fc.property(arrivals, ({ limit, window, burst, steps }) => {
      const { limiter, clock } = testLimiter({ queue: makeLimit({ algorithm: "leaky_bucket", limit, window, burst }) });
      const perUnitMs = window / limit / 1_000;
      let free = Number.NEGATIVE_INFINITY;
      for (const { share, cost } of steps) {
        clock.set(Math.round(clock.now() + share * window) / 1_000);
        const { allowed, delayMs } = limiter.checkSync("queue", "key", { cost });
        if (!allowed) continue;
        const leaves = clock.now() / 1_000 + delayMs;
        expect(leaves).toBeGreaterThan(free - 1e-6);
        expect(delayMs).toBeLessThan((burst - cost) * perUnitMs + 1e-6);
        free = leaves + cost * perUnitMs;
      }
    });
    fc.assert(property, runs(200));
  });
});
