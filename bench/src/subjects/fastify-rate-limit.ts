import { createRequire } from "node:module";
import type { MakeChecker } from "./subject.ts";

const require = createRequire(import.meta.url);

interface Hits {
  readonly current: number;
}

interface LocalStore {
  incr(key: string, callback: (error: Error | null, hits: Hits) => void, timeWindow: number, max: number): void;
}

type LocalStoreClass = new (continueExceeding: boolean, exponentialBackoff: boolean, cache: number) => LocalStore;

export async function load(): Promise<MakeChecker> {
  const LocalStore: unknown = require("@fastify/rate-limit/store/LocalStore.js");
  if (!isLocalStore(LocalStore)) throw new Error("@fastify/rate-limit has no LocalStore with incr");
  return ({ limit, windowMs, maxKeys }) => {
    // By default it keeps only the 5,000 most recently used keys, and so would forget limited ones.
    const store = new LocalStore(false, false, maxKeys);
    let current = 0;
    const take = (_error: Error | null, hits: Hits): void => {
      current = hits.current;
    };
    return {
      kind: "sync",
      check(key) {
        store.incr(key, take, windowMs, limit);
        return current <= limit;
      },
    };
  };
}

/** The store is internal to the plugin, without types. */
function isLocalStore(value: unknown): value is LocalStoreClass {
  return typeof value === "function" && "incr" in value.prototype;
}
