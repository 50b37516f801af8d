import { repeated } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { SlotWorld } from "./slot-world.ts";

/** HEADGATE_SEEDS runs that many; HEADGATE_SEED replays one. */
const seeds = Number(process.env["HEADGATE_SEEDS"] ?? (repeated(1) > 1 ? 10_000 : 300));
const only = process.env["HEADGATE_SEED"];

describe("slots, simulated", () => {
  it(
    `are never more than the limit, and none is leaked or given back twice (${only ?? `${seeds} seeds`})`,
    async () => {
      const total = { started: 0, denied: 0, lost: 0, refusedLate: 0 };
      for (let seed = Number(only ?? 1); seed <= Number(only ?? seeds); seed += 1) {
        const world = new SlotWorld(seed);
        try {
          await world.run();
        } catch (cause) {
          throw new Error(`seed ${seed}`, { cause });
        }
        for (const name of ["started", "denied", "lost", "refusedLate"] as const) total[name] += world[name];
      }
      if (only !== undefined) return;
      // The simulation would prove nothing if none of this happened.
      for (const count of Object.values(total)) expect(count).toBeGreaterThan(seeds / 3);
    },
    Math.max(120_000, seeds * 200),
  );
});
