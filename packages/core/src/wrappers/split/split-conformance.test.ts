import { expect } from "vitest";
import { storeConformance } from "../../../test/stores/store-conformance.ts";
import type { Store } from "../../stores/store.ts";
import { ManualClock } from "../../testing/index.ts";
import { type Split, split } from "./split.ts";

const DAY_MS = 86_400_000;

// A group of one enforces the limits as they are. Redis has no part in that: this one always answers the same.
const alone = { send: async () => [0, 1, 1, DAY_MS] };

storeConformance("A split among one", async () => {
  const clock = new ManualClock(1_700_000_000_123.457);
  const store = split(alone, { group: "alone", beatMs: DAY_MS / 3, leaseMs: DAY_MS, clock });
  await store.ready();
  return { store: asAsked(store), clock, close: () => store.close() };
});

/** The suite knows stores that were asked themselves. */
function asAsked(store: Split): Store {
  return {
    clock: store.clock,
    takesFirst: store.takesFirst,
    async apply(...request) {
      const answers = await store.apply(...request);
      for (const { source } of answers) expect(source).toBe("lease");
      return answers.map((answer) => ({ ...answer, source: "store" }));
    },
  };
}
