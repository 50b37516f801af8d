import fc from "fast-check";
import { expect, it } from "vitest";
import { checkResult, type DecidedLimit } from "../../../test/checks/results.ts";
import { answerOf } from "../shared/check-fields.ts";
import { answerText, denialText } from "./check-answer.ts";

const microseconds = fc.integer({ min: 0, max: 1e15 });

const limit: fc.Arbitrary<DecidedLimit> = fc.record({
  rule_id: fc.string({ unit: "binary" }),
  name: fc.string(),
  allowed: fc.boolean(),
  limit: fc.maxSafeNat(),
  burst: fc.maxSafeNat(),
  window_seconds: fc.integer({ min: 1 }),
  remaining: fc.oneof(fc.integer(), fc.maxSafeInteger(), fc.double({ min: 0, max: 1e6, noNaN: true })),
  time: microseconds,
  retryAfter: fc.oneof(microseconds, fc.constant(Number.POSITIVE_INFINITY)),
  resetAfter: microseconds,
  state: fc.constantFrom("normal", "warning", "throttled"),
  source: fc.constantFrom("store", "lease", "cache", "fallback"),
  degraded: fc.boolean(),
  origin: fc.constantFrom("rule", "tier", "custom", "override"),
  queue: fc.boolean(),
});

const result = fc
  .record({
    limits: fc.array(limit, { maxLength: 3 }),
    shadow: fc.array(limit, { maxLength: 2 }),
    skewMs: fc.option(fc.double({ min: -1e12, max: 1e12, noNaN: true }), { nil: undefined }),
    skewed: fc.boolean(),
  })
  .map(checkResult);

it("writes by hand what JSON.stringify would", () => {
  fc.assert(
    fc.property(result, fc.boolean(), (result, withLimits) => {
      expect(answerText(result, withLimits)).toBe(JSON.stringify(answerOf(result, withLimits)));
    }),
  );
});

it("writes denials that are a problem and an answer", () => {
  fc.assert(
    fc.property(result, fc.boolean(), (result, withLimits) => {
      const denial = JSON.parse(denialText(result, withLimits));
      expect(denial).toMatchObject(JSON.parse(JSON.stringify(answerOf(result, withLimits))));
      const isFallback = result.verdict?.source === "fallback";
      expect(denial.status).toBe(isFallback ? 503 : 429);
      expect(denial.code).toBe(isFallback ? "reduced_capacity" : "quota_exceeded");
      expect(denial["violated-policies"]).toEqual(
        (result.verdict?.decisions ?? []).filter(({ allowed }) => !allowed).map(({ rule }) => rule),
      );
    }),
  );
});
