import fc from "fast-check";
import { expect, it } from "vitest";
import type { CheckResult, LimitResult } from "../../checks/check.ts";
import { answerOf, answerText, denialText } from "./check-answer.ts";

const ms = fc.oneof(fc.double({ min: 0, max: 1e15, noNaN: true }), fc.constant(Number.POSITIVE_INFINITY));
const units = fc.oneof(fc.integer(), fc.maxSafeInteger());

const limit: fc.Arbitrary<LimitResult> = fc.record({
  rule_id: fc.string({ unit: "binary" }),
  name: fc.string(),
  mode: fc.constant("enforce"),
  allowed: fc.boolean(),
  limit: units,
  window_seconds: fc.integer({ min: 1 }),
  burst: units,
  current_count: units,
  remaining: units,
  retry_after_ms: ms,
  reset_after_ms: fc.double({ min: 0, max: 1e15, noNaN: true }),
  retry_at_ms: fc.maxSafeNat(),
  reset_at_ms: fc.maxSafeNat(),
  state: fc.constantFrom("normal", "warning", "throttled"),
  source: fc.constantFrom("store", "lease", "cache", "fallback"),
  degraded: fc.boolean(),
  from: fc.constantFrom("rule", "tier", "custom", "override"),
});

const result: fc.Arbitrary<CheckResult> = fc.record({
  allowed: fc.boolean(),
  decisive: fc.option(limit, { nil: undefined }),
  limits: fc.array(limit, { maxLength: 3 }),
  shadow: fc.array(limit, { maxLength: 2 }),
  skew_ms: fc.option(fc.double({ min: -1e12, max: 1e12, noNaN: true }), { nil: undefined }),
  skewed: fc.boolean(),
});

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
      const isFallback = result.decisive?.source === "fallback";
      expect(denial.status).toBe(isFallback ? 503 : 429);
      expect(denial.code).toBe(isFallback ? "reduced_capacity" : "quota_exceeded");
      expect(denial["violated-policies"]).toEqual(
        result.limits.filter(({ allowed }) => !allowed).map(({ rule_id }) => rule_id),
      );
    }),
  );
});
