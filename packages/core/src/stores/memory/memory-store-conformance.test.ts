import { slotConformance } from "../../../test/stores/slot-conformance.ts";
import { storeConformance } from "../../../test/stores/store-conformance.ts";
import { MemoryStore } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

// Not at the epoch: the times of today have 16 digits, which is where arithmetic slips.
const TODAY_MS = 1_700_000_000_123.457;

for (const conformance of [storeConformance, slotConformance]) {
  conformance("MemoryStore", () => {
    const clock = new ManualClock(TODAY_MS);
    return { store: new MemoryStore({ clock }), clock };
  });

  conformance("MemoryStore that sweeps nothing", () => {
    const clock = new ManualClock(TODAY_MS);
    return { store: new MemoryStore({ clock, sweep: false }), clock };
  });
}
