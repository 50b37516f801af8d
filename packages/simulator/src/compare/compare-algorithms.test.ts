import fc from "fast-check";
import { MemoryStore } from "headgate";
import { ManualClock } from "headgate/testing";
import { describe, expect, it } from "vitest";
import { compareAlgorithms, limitOfEach } from "./compare-algorithms.ts";
import { drawnTraffic } from "./drawn-traffic.ts";

const START = 1_767_225_600_000_000;

describe("algorithms side by side", () => {
  it("decide as a store does", () => {
    const requests = fc
      .array(fc.record({ time: fc.integer({ min: 0, max: 20_000_000 }), cost: fc.integer({ min: 0, max: 5 }) }), {
        maxLength: 150,
      })
      .map((all) => all.map(({ time, cost }) => ({ time: START + time, cost })).sort((a, b) => a.time - b.time));
    fc.assert(
      fc.property(requests, fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 20 }), (those, limit, burst) => {
        for (const run of compareAlgorithms(limitOfEach({ limit, windowMs: 3_000, burst }), those)) {
          const clock = new ManualClock();
          const store = new MemoryStore({ clock });
          const rule = { name: "api", limit: run.limit };
          const answers = those.map(({ time, cost }) => {
            clock.set(time / 1000);
            return store.apply("take", [{ rule, key: "a", cost }])[0];
          });
          expect(run.allowed).toEqual(answers.map(({ allowed }) => allowed));
          expect(run.remaining).toEqual(answers.map(({ remaining }) => remaining));
          expect(run.retryAfter).toEqual(answers.map(({ retryAfter }) => retryAfter));
          expect(run.admitted + run.denied).toBe(those.length);
        }
      }),
    );
  });

  it("report how much they keep in memory", () => {
    const requests = drawnTraffic({ rates: [100], stepMs: 1_000 });
    const runs = compareAlgorithms(limitOfEach({ limit: 100, windowMs: 60_000 }), requests);
    const kept = new Map(runs.map(({ limit, mostNumbers }) => [limit.algorithm, mostNumbers]));
    expect(kept.get("gcra")).toBeLessThan(5);
    expect(kept.get("sliding_window_log")).toBeGreaterThan(100);
  });
});

describe("drawn traffic", () => {
  it("follows the curve, at equal distances or at random", () => {
    const rates = [0, 10, 0.5, 0.5, 0, 100];
    const inStep = (requests: ReturnType<typeof drawnTraffic>, step: number): number =>
      requests.filter(({ time }) => time > START + step * 1_000_000 && time <= START + (step + 1) * 1_000_000).length;
    const even = drawnTraffic({ rates, stepMs: 1_000, start: START, cost: 3 });
    // The two halves add up to one request.
    expect(rates.map((_, step) => inStep(even, step))).toEqual([0, 10, 0, 1, 0, 100]);
    expect(even.every(({ cost }) => cost === 3)).toBe(true);
    const random = drawnTraffic({ rates: [1_000, 0, 2_000], stepMs: 10_000, start: START, seed: 5 });
    expect(random).toEqual(drawnTraffic({ rates: [1_000, 0, 2_000], stepMs: 10_000, start: START, seed: 5 }));
    expect(Math.abs(random.length / 30_000 - 1)).toBeLessThan(0.03);
    expect(random.filter(({ time }) => time > START + 10_000_000 && time < START + 20_000_000)).toEqual([]);
  });
});
