import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { context, operation } from "../../../test/wrappers/resilient/context.ts";
import type { Mood } from "../../../test/wrappers/resilient/faulty-store.ts";
import { type Answer, HeadgateError, StoreError } from "../../index.ts";

const DEADLINE_MS = 50;

const steps = fc.array(
  fc.record({
    mood: fc.constantFrom<Mood>("prompt", "well", "slow", "silent", "rejecting", "throwing"),
    slowMs: fc.integer({ min: 0, max: 120 }),
    failure: fc.constantFrom(
      new StoreError("HG_STORE_UNREACHABLE", "is gone"),
      new StoreError("HG_STORE_TIMEOUT", "is slow"),
      new HeadgateError("HG_KEYS_APART", "checks", "are apart"),
      new Error("foreign"),
    ),
    calls: fc.integer({ min: 0, max: 8 }),
    ms: fc.integer({ min: 0, max: 80 }),
  }),
  { minLength: 1, maxLength: 40 },
);

describe("whatever the store does", () => {
  it.each(["local", "allow", "deny"] as const)("every call ends once, by its deadline, and is counted: %s", (onError) =>
    fc.assert(
      fc.asyncProperty(steps, async (sequence) => {
        const { clock, inner, store } = context({ onError, deadlineMs: DEADLINE_MS });
        const calls: { made: number; ended: number[]; answers?: readonly Answer[]; error?: unknown }[] = [];
        for (const { mood, slowMs, failure, calls: count, ms } of sequence) {
          Object.assign(inner, { mood, slowMs, failure });
          for (let i = 0; i < count; i += 1) {
            const call: (typeof calls)[number] = { made: clock.now(), ended: [] };
            calls.push(call);
            new Promise<readonly Answer[]>((resolve) => resolve(store.apply("take", [operation()]))).then(
              (answers) => {
                call.ended.push(clock.now());
                call.answers = answers;
              },
              (error: unknown) => {
                call.ended.push(clock.now());
                call.error = error;
              },
            );
          }
          await clock.advance(ms);
        }
        await clock.advance(DEADLINE_MS);
        for (const { made, ended, answers, error } of calls) {
          expect(ended).toHaveLength(1);
          expect(ended[0] - made).toBeLessThanOrEqual(DEADLINE_MS * 1000);
          if (error === undefined) expect(answers).toHaveLength(1);
          else expect(error).toMatchObject({ code: "HG_KEYS_APART" });
        }
        const fellBack = calls.filter(({ answers }) => answers?.[0].source === "fallback");
        expect(fellBack.every(({ answers }) => answers?.[0].degraded)).toBe(true);
        expect(store.stats.fallbacks[onError]).toBe(fellBack.length);
        expect(store.stats.calls).toBe(calls.length);
        const failures = Object.values(store.stats.failures).reduce((sum, count) => sum + count, 0);
        // Every call that was sent was answered by the store, had a mistake, or failed.
        const byStore = calls.filter(({ answers }) => answers?.[0].source === "store").length;
        const mistaken = calls.filter(({ error }) => error !== undefined).length;
        expect(failures).toBe(inner.calls.length - byStore - mistaken);
      }),
    ),
  );
});
