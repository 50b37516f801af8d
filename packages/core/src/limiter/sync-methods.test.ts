import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { kinds } from "../../test/limiter/kinds.ts";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { type Decision, rateLimiter } from "../index.ts";
import { ManualClock } from "../testing/index.ts";

const methods = ["check", "checkAll", "firstOf", "checkMany", "peek", "refund", "penalize", "reset"] as const;
const requests = fc.array(
  fc.record({
    method: fc.constantFrom(...methods),
    key: fc.constantFrom("a", "b"),
    cost: fc.option(fc.integer({ min: 0, max: 6 }), { nil: undefined }),
    advance: fc.integer({ min: 0, max: 700_000 }),
  }),
  { maxLength: 30 },
);

// The promises, their twins without one, and a limiter over a store that only has `apply`: one behaviour.
describe.each(kinds)("the ways to ask under a %s", (_name, make) => {
  it("decide alike", () =>
    fc.assert(
      fc.asyncProperty(requests, async (sequence) => {
        const clock = new ManualClock(1_700_000_000_000);
        const rules = { api: make("5/s"), site: make("9/s") };
        const sync = rateLimiter(rules, { clock });
        const promised = rateLimiter(rules, { clock });
        const shared = rateLimiter(rules, { store: new SlowStore(clock), clock });
        for (const { method, key, cost, advance } of sequence) {
          clock.set((clock.now() + advance) / 1000);
          const options = cost === undefined ? {} : { cost };
          const checks = [
            { rule: "api", key, ...options },
            { rule: "site", key: "everyone", ...options },
          ] as const;
          const answers = {
            check: [
              () => sync.checkSync("api", key, options),
              () => promised.check("api", key, options),
              () => shared.check("api", key, options),
            ],
            checkAll: [() => sync.checkAllSync(checks), () => promised.checkAll(checks), () => shared.checkAll(checks)],
            firstOf: [() => sync.firstOfSync(checks), () => promised.firstOf(checks), () => shared.firstOf(checks)],
            checkMany: [
              () => sync.checkManySync(checks),
              () => promised.checkMany(checks),
              () => shared.checkMany(checks),
            ],
            peek: [
              () => sync.peekSync("api", key, options),
              () => promised.peek("api", key, options),
              () => shared.peek("api", key, options),
            ],
            refund: [
              () => sync.refundSync("api", key, options),
              () => promised.refund("api", key, options),
              () => shared.refund("api", key, options),
            ],
            penalize: [
              () => sync.penalizeSync("api", key, options),
              () => promised.penalize("api", key, options),
              () => shared.penalize("api", key, options),
            ],
            reset: [() => sync.resetSync("api", key), () => promised.reset("api", key), () => shared.reset("api", key)],
          }[method];
          const [first, second, third] = [await answers[0](), await answers[1](), await answers[2]()].map(shown);
          expect(second, method).toEqual(first);
          expect(third, method).toEqual(first);
        }
      }),
      { numRuns: 40 },
    ));
});

type Answer = object | readonly Decision[];

/** All that a caller can see, the computed properties included. */
function shown(answer: Answer): unknown {
  if (Array.isArray(answer)) return answer.map(shown);
  const { queuePosition, delayMs } = answer as Partial<Decision>;
  return { ...answer, queuePosition, delayMs };
}
