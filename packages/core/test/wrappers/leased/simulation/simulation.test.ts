import { repeated } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { simulate } from "./world.ts";

/** HEADGATE_SEEDS runs that many; HEADGATE_SEED replays one. */
const seeds = Number(process.env["HEADGATE_SEEDS"] ?? repeated(1_000));
const timeout = Math.max(120_000, seeds * 100);
const only = process.env["HEADGATE_SEED"];

describe("leases, simulated", () => {
  it(
    `admit at most the total and lose no units, whatever happens (${only ?? `${seeds} seeds`})`,
    async () => {
      if (only !== undefined) {
        await simulate(Number(only));
        return;
      }
      let answered = 0;
      let denied = 0;
      let failed = 0;
      for (let seed = 1; seed <= seeds; seed += 1) {
        const world = await simulate(seed);
        answered += world.answered;
        denied += world.denied;
        failed += world.failed;
      }
      // The simulation would prove nothing if everything passed, or nothing did.
      expect(denied / answered).toBeGreaterThan(0.1);
      expect(denied / answered).toBeLessThan(0.9);
      expect(failed).toBeGreaterThan(0);
    },
    timeout,
  );
});
