import { repeated } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { simulate } from "./world.ts";

const { HEADGATE_SEED: only } = process.env;
/** 10,000 with HEADGATE_RUNS=20. */
const seeds = repeated(1) > 1 ? 10_000 : 300;

describe("reservations, simulated", () => {
  it(
    `charge exactly what was settled, spent or released, and never run more tasks than there are slots (${only ?? `${seeds} seeds`})`,
    async () => {
      if (only !== undefined) {
        await simulate(Number(only));
        return;
      }
      const total = { settled: 0, lost: 0, failed: 0, released: 0, denied: 0, aborted: 0 };
      for (let seed = 1; seed <= seeds; seed += 1) {
        const { settled, lost, failed, released, denied, aborted } = await simulate(seed);
        total.denied += denied;
        total.aborted += aborted;
        total.settled += settled;
        total.lost += lost;
        total.failed += failed;
        total.released += released;
      }
      // The simulation would prove nothing if everything succeeded, or nothing did.
      for (const count of Object.values(total)) expect(count).toBeGreaterThan(seeds / 20);
    },
    Math.max(120_000, seeds * 100),
  );
});
