import { MemoryStore, resilient } from "../../../src/index.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { storeConformance } from "../../stores/store-conformance.ts";
import { TODAY_MS } from "./context.ts";
import { FaultyStore } from "./faulty-store.ts";

storeConformance("resilient over a store that answers at once", () => {
  const clock = new ManualClock(TODAY_MS);
  return { store: resilient(new MemoryStore({ clock }), { clock }), clock };
});

storeConformance("resilient over a store that answers by a promise", () => {
  const clock = new ManualClock(TODAY_MS);
  return { store: resilient(new FaultyStore(clock), { clock }), clock };
});
