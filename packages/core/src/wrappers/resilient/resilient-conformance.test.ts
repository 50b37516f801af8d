import { storeConformance } from "../../../test/stores/store-conformance.ts";
import { TODAY_MS } from "../../../test/wrappers/resilient/context.ts";
import { FaultyStore } from "../../../test/wrappers/resilient/faulty-store.ts";
import { MemoryStore, resilient } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

storeConformance("resilient over a store that answers at once", () => {
  const clock = new ManualClock(TODAY_MS);
  return { store: resilient(new MemoryStore({ clock }), { clock }), clock };
});

storeConformance("resilient over a store that answers by a promise", () => {
  const clock = new ManualClock(TODAY_MS);
  return { store: resilient(new FaultyStore(clock), { clock }), clock };
});
