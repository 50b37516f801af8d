import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { type Watched, watch } from "../../test/limiter/watched-promise.ts";
import { type Decision, rateLimiter, slidingWindowLog } from "../index.ts";
import { ManualClock } from "../testing/index.ts";

const LIMIT = 4;
const WINDOW_MS = 1_000;

const crowd = fc.array(
  fc.record({
    comesAfterMs: fc.nat(600),
    cost: fc.integer({ min: 0, max: LIMIT + 1 }),
    abortsAfterMs: fc.option(fc.nat(2_500), { nil: undefined }),
    maxWaitMs: fc.option(fc.nat(2_500), { nil: undefined }),
  }),
  { minLength: 1, maxLength: 12 },
);

interface Person {
  readonly cost: number;
  readonly leaves: boolean;
  readonly waiting: Watched<Decision<"api">>;
}

describe("a crowd that waits for one key, some impatient, some called away", () => {
  it.each([
    ["at once", 0],
    ["in 30 ms", 30],
  ])(
    "is served in order, within the limit, and pays for what it got alone (a store that answers %s)",
    (_how, travelMs) =>
      fc.assert(
        fc.asyncProperty(crowd, async (sequence) => {
          const clock = new ManualClock(1_700_000_000_000);
          const limit = slidingWindowLog({ limit: LIMIT, windowMs: WINDOW_MS });
          const limiter = rateLimiter({ api: limit }, { store: new SlowStore(clock, travelMs), clock });
          const people: Person[] = [];
          for (const { comesAfterMs, cost, abortsAfterMs, maxWaitMs } of sequence) {
            await clock.advance(comesAfterMs);
            const controller = new AbortController();
            const { signal } = controller;
            const options = maxWaitMs === undefined ? { cost, signal } : { cost, signal, maxWaitMs };
            const waiting = watch(clock, limiter.wait("api", "k", options));
            people.push({ cost, waiting, leaves: abortsAfterMs !== undefined || maxWaitMs !== undefined });
            if (abortsAfterMs !== undefined) void clock.sleep(abortsAfterMs).then(() => controller.abort());
          }
          await clock.advance(60_000);

          // No call is left waiting, and only those with an aborted signal were aborted.
          expect(people.every(({ waiting }) => waiting.at !== undefined)).toBe(true);
          const admitted = people.filter(({ waiting }) => waiting.value?.allowed);
          for (const { waiting, leaves, cost } of people) {
            if (!leaves) expect(waiting.value?.allowed).toBe(cost <= LIMIT);
          }
          const patient = admitted.filter(({ leaves }) => !leaves).map(({ waiting: { at = 0 } }) => at);
          expect(patient).toEqual([...patient].sort((a, b) => a - b));
          for (const {
            waiting: { at = 0 },
          } of admitted) {
            const within = admitted.filter(({ waiting: { at: other = 0 } }) => other > at - WINDOW_MS && other <= at);
            expect(within.reduce((sum, { cost }) => sum + cost, 0)).toBeLessThanOrEqual(LIMIT);
          }
        }),
        { numRuns: 60 },
      ),
  );

  it("leaves no charge behind for calls that were not admitted", () =>
    fc.assert(
      fc.asyncProperty(crowd, fc.nat(20), async (sequence, travelMs) => {
        const clock = new ManualClock(1_700_000_000_000);
        // So long a window that nothing leaves it: what is charged at the end is what was ever charged.
        const limit = slidingWindowLog({ limit: 20, windowMs: 1e9 });
        const limiter = rateLimiter({ api: limit }, { store: new SlowStore(clock, travelMs), clock });
        const waits: Watched<Decision<"api">>[] = [];
        for (const { comesAfterMs, cost, abortsAfterMs = 2_000, maxWaitMs = 2_000 } of sequence) {
          await clock.advance(comesAfterMs);
          const controller = new AbortController();
          waits.push(watch(clock, limiter.wait("api", "k", { cost, signal: controller.signal, maxWaitMs })));
          // Some are called away while the store is still deciding.
          void clock.sleep(abortsAfterMs % 40).then(() => controller.abort());
        }
        await clock.advance(60_000);
        const used = waits.reduce((sum, { value }) => sum + (value?.allowed ? value.cost : 0), 0);
        const peeked = limiter.peek("api", "k");
        await clock.advance(60_000);
        expect((await peeked).remaining).toBe(20 - used);
      }),
      { numRuns: 60 },
    ));
});
