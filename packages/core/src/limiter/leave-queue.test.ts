import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { leakyBucket } from "../index.ts";
import { testLimiter } from "../testing/index.ts";

/** Schedules tasks, some of which are aborted, and reports when the others ran. */
async function departures(plan: readonly { readonly wait: number; readonly abortAfter?: number }[]): Promise<number[]> {
  const { limiter, clock } = testLimiter({ mail: leakyBucket("1/s", { burst: 5 }) });
  const left: number[] = [];
  const tasks: Promise<unknown>[] = [];
  for (const { wait, abortAfter } of plan) {
    const controller = new AbortController();
    const task = () => {
      left.push(clock.now() / 1000);
    };
    tasks.push(limiter.schedule("mail", "k", task, { signal: controller.signal }).catch(() => {}));
    if (abortAfter !== undefined) void clock.sleep(abortAfter).then(() => controller.abort());
    await clock.advance(wait);
  }
  await clock.advance(10_000);
  await Promise.all(tasks);
  return left;
}

describe("a queue with an aborted task", () => {
  it("does not give the free place to a new task while others are waiting", async () => {
    const left = await departures([{ wait: 0 }, { wait: 0, abortAfter: 100 }, { wait: 200 }, { wait: 0 }]);
    expect(left).toEqual([0, 2000, 3000]);
  });

  it("gives the last place to the next", async () => {
    expect(await departures([{ wait: 0 }, { wait: 200, abortAfter: 100 }, { wait: 0 }])).toEqual([0, 1000]);
  });

  it("never lets two out closer together than the rate", async () => {
    const step = fc.record(
      { wait: fc.integer({ min: 0, max: 1500 }), abortAfter: fc.integer({ min: 1, max: 3000 }) },
      { requiredKeys: ["wait"] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (plan) => {
        const left = await departures(plan);
        for (let i = 1; i < left.length; i += 1) expect(left[i] - left[i - 1]).toBeGreaterThanOrEqual(1000 - 0.001);
      }),
      { numRuns: 60 },
    );
  });
});
