import type { StoreContext } from "../../../test/stores/conformance/context.ts";
import { storeConformance } from "../../../test/stores/store-conformance.ts";
import { cached, MemoryStore, type Store } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import type { CachedOptions } from "../../wrappers/cached/cached-options.ts";

// Not at the epoch: the times of today have 16 digits, which is where arithmetic slips.
const TODAY_MS = 1_700_000_000_123.457;

// A single process never admits too many, and what is written at once is charged at the right time.
storeConformance("cached(MemoryStore) of one process", () => make({ flushMs: 0, confirm: false }));
storeConformance("cached(MemoryStore) that confirms", () => make({ flushMs: 0, confirm: true }));
storeConformance("cached(MemoryStore) that reads first", () => make({ flushMs: 0, read: true }));

function make(options: CachedOptions): StoreContext {
  const clock = new ManualClock(TODAY_MS);
  return { store: sayingStore(cached(new MemoryStore({ clock }), { ...options, clock })), clock };
}

/** The suite is for stores that decide themselves; only in saying so does this one differ. */
function sayingStore(store: Store): Store {
  return {
    ...(store.clock && { clock: store.clock }),
    ...(store.takesFirst && { takesFirst: store.takesFirst }),
    async apply(action, operations, options) {
      const answers = await store.apply(action, operations, options);
      return answers.map((answer) => ({ ...answer, source: "store" }));
    },
  };
}
