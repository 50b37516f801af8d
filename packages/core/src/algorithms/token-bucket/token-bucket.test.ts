import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { expectAnswer, followsModel } from "../../../test/algorithms/follows-model.ts";
import { Fraction } from "../../../test/algorithms/fraction.ts";
import { isExact, meterLimits, shortDecimals } from "../../../test/algorithms/limits.ts";
import { burstAndRate, keepsMeterBound } from "../../../test/algorithms/meters.ts";
import { TokenBucketModel } from "../../../test/algorithms/models/token-bucket.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { play, requests } from "../../../test/algorithms/traffic.ts";
import { limitFromSpec } from "../../limits/spec.ts";

describe("token_bucket", patience, () => {
  it("decides as tokens counted in exact arithmetic", () => {
    followsModel(meterLimits("token_bucket").filter(isExact), (limit) => new TokenBucketModel(...burstAndRate(limit)));
  });

  it("takes a capacity and a refill rate as the decimals that they are", () => {
    const property = fc.property(shortDecimals, requests, (spec, traffic) => {
      const limit = limitFromSpec(spec);
      const perSecond = Fraction.decimal(String(spec.refill_rate));
      const model = new TokenBucketModel(
        Fraction.decimal(String(spec.capacity)),
        perSecond.over(Fraction.of(1_000_000)),
      );
      play(new Row(limit), traffic, (now, cost, answer) => {
        expectAnswer(answer, model.take(BigInt(now), BigInt(cost)), limit);
      });
    });
    fc.assert(property, runs(300));
  });

  it("lets no more than the burst and the rate through in any span", () => {
    keepsMeterBound(meterLimits("token_bucket"));
  });

  it("is right at thousands of exact refill instants, where a bucket of floats is not", () => {
    const row = new Row(limitFromSpec({ capacity: 1, refill_rate: 10 }));
    const naive = new FloatBucket(1, 10);
    let naiveSlips = 0;
    for (let i = 0; i < 10_000; i += 1) {
      const now = 1_790_000_000_000_000 + i * 100_000;
      if (!naive.take(now / 1_000_000)) naiveSlips += 1;
      expect(row.ask(now - 1, 1).allowed).toBe(i === 0);
      expect(row.take(now, 1)).toEqual({ allowed: true, remaining: 0, retryAfter: 0, resetAfter: 100_000 });
    }
    expect(naiveSlips).toBeGreaterThan(1_000);
  });
});

/** How a token bucket is usually written, with times and tokens in plain floats. */
class FloatBucket {
  private readonly capacity: number;
  private readonly rate: number;
  private tokens: number;
  private last = Number.NEGATIVE_INFINITY;

  constructor(capacity: number, rate: number) {
    this.capacity = capacity;
    this.rate = rate;
    this.tokens = capacity;
  }

  take(now: number): boolean {
    this.tokens = Math.min(this.capacity, this.tokens + (now - this.last) * this.rate);
    this.last = now;
    if (this.tokens < 1) return false;
    this.tokens -= 1;
    return true;
  }
}
