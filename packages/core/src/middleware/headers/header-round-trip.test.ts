import fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { variants } from "../../../test/algorithms/limits.ts";
import type { Limit, Verdict } from "../../index.ts";
import { testLimiter } from "../../testing/index.ts";
import { parseRateLimitHeaders } from "./parse-headers.ts";
import { Policy } from "./policy.ts";
import { type HeaderForm, HeaderWriter } from "./response-headers.ts";
import { LARGEST_INTEGER } from "./structured-field.ts";

const NOW_MS = Date.UTC(2026, 10, 15);

const anyLimit = fc.oneof(...variants.map(({ modest }) => modest));
const anyRules = fc.dictionary(fc.string({ unit: "binary", minLength: 1 }), anyLimit, { minKeys: 1, maxKeys: 4 });
/** A cost against what the limit holds: a part of it, all, or too much. */
const costs = fc.array(fc.constantFrom(0.01, 0.3, 0.5, 1, 1.01), { minLength: 1, maxLength: 12 });
const waits = fc.array(fc.integer({ min: 0, max: 90_000 }), { minLength: 12, maxLength: 12 });

function headersOf(
  form: HeaderForm,
  rules: Readonly<Record<string, Limit>>,
  { deciding, decisions }: Verdict,
): Record<string, string> {
  const policies = Object.entries(rules).map(([rule, limit]) => new Policy(rule, limit));
  const fields = new HeaderWriter([form], policies).write(deciding, decisions);
  return Object.fromEntries(fields.map(({ name, value }) => [name, value]));
}

/** Verdicts about a random run of requests. */
async function play(
  rules: Readonly<Record<string, Limit>>,
  shares: readonly number[],
  pauses: readonly number[],
  look: (verdict: Verdict, again: () => Verdict, pass: (ms: number) => Promise<void>) => Promise<void> | void,
): Promise<void> {
  const { limiter, clock } = testLimiter(rules, { startMs: NOW_MS });
  for (const [i, share] of shares.entries()) {
    const ask = () => {
      const checks = Object.entries(rules).map(([rule, { burst }]) => {
        return { rule, key: "k", cost: Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(burst * share)) };
      });
      return limiter.checkAllSync(checks);
    };
    await look(ask(), ask, (ms) => clock.advance(ms));
    await clock.advance(pauses[i]);
  }
}

const seconds = (ms: number): number => Math.ceil(ms / 1000) * 1000;
const units = (value: number): number => Math.min(LARGEST_INTEGER, Math.floor(value));

describe("what we write, our parser reads back", patience, () => {
  it("in the newest draft: every limit, by its name", async () => {
    await fc.assert(
      fc.asyncProperty(anyRules, costs, waits, async (rules, shares, pauses) => {
        await play(rules, shares, pauses, (verdict) => {
          const told = parseRateLimitHeaders(headersOf("draft", rules, verdict), NOW_MS);
          const finite = verdict.retryAfterMs !== Number.POSITIVE_INFINITY;
          const retryAfterMs = verdict.allowed || !finite ? undefined : seconds(verdict.retryAfterMs);
          expect(told.retryAfterMs).toBe(retryAfterMs);
          expect(told.policies.map(({ name, quota, windowMs }) => [name, quota, windowMs])).toEqual(
            Object.entries(rules).map(([rule, { limit }], i) => [
              new Policy(rule, rules[rule]).name,
              units(limit),
              seconds(verdict.decisions[i].windowMs),
            ]),
          );
          expect(told.limits.map(({ remaining }) => remaining)).toEqual(
            verdict.decisions.map((d) => units(d.remaining)),
          );
          expect(told.limits.map(({ name }) => name)).toEqual(told.policies.map(({ name }) => name));
          for (const [i, { resetAfterMs = -1 }] of told.limits.entries()) {
            const decision = verdict.decisions[i];
            const passes = decision.allowed || decision.retryAfterMs === Number.POSITIVE_INFINITY;
            const full = passes ? decision.resetAfterMs : decision.retryAfterMs;
            expect(resetAfterMs).toBe(Math.min(seconds(full), retryAfterMs ?? Number.POSITIVE_INFINITY));
          }
        });
      }),
      runs(200),
    );
  });

  it.each<HeaderForm>(["draft-7", "draft-6", "legacy-seconds", "legacy-epoch"])(
    "in the form %s: the limit that decided",
    async (form) => {
      await fc.assert(
        fc.asyncProperty(anyRules, costs, waits, async (rules, shares, pauses) => {
          await play(rules, shares, pauses, (verdict) => {
            const now = verdict.timeMs;
            const told = parseRateLimitHeaders(headersOf(form, rules, verdict), now);
            expect(told.limits).toHaveLength(1);
            const [{ remaining, resetAfterMs = -1 }] = told.limits;
            expect(remaining).toBe(units(verdict.remaining));
            const passes = verdict.allowed || verdict.retryAfterMs === Number.POSITIVE_INFINITY;
            const full = passes ? verdict.resetAfterMs : verdict.retryAfterMs;
            expect(resetAfterMs).toBe(form === "legacy-epoch" ? seconds(now + full) - now : seconds(full));
            expect(told.policies.map(({ quota }) => quota)).toEqual(
              form.startsWith("legacy")
                ? [units(verdict.limit)]
                : Object.values(rules).map(({ limit }) => units(limit)),
            );
          });
        }),
        runs(100),
      );
    },
  );
});

describe("a client that retries at Retry-After", patience, () => {
  it("passes, whatever the limits", async () => {
    await fc.assert(
      fc.asyncProperty(anyRules, costs, waits, async (rules, shares, pauses) => {
        await play(rules, shares, pauses, async (verdict, again, pass) => {
          if (verdict.allowed) return;
          const { retryAfterMs } = parseRateLimitHeaders(headersOf("draft", rules, verdict), NOW_MS);
          if (retryAfterMs === undefined) {
            expect(verdict.retryAfterMs).toBe(Number.POSITIVE_INFINITY);
            return;
          }
          await pass(retryAfterMs);
          expect(again().allowed).toBe(true);
        });
      }),
      runs(200),
    );
  });
});
