import { MemoryStore } from "../../src/index.ts";
import { ManualClock } from "../../src/testing/index.ts";
import { storeConformance } from "./store-conformance.ts";

// Not at the epoch: the times of today have 16 digits, which is where arithmetic slips.
const TODAY_MS = 1_700_000_000_123.457;

storeConformance("MemoryStore", () => {
  const clock = new ManualClock(TODAY_MS);
  return { store: new MemoryStore({ clock }), clock };
});

storeConformance("MemoryStore that sweeps nothing", () => {
  const clock = new ManualClock(TODAY_MS);
  return { store: new MemoryStore({ clock, sweep: false }), clock };
});
