import type { MakeChecker } from "./subject.ts";

/** The part used here: its own type requires the options of the whole middleware. */
interface HitStore {
  init(options: { windowMs: number }): void;
  increment(key: string): { readonly totalHits: number };
}

export async function load(): Promise<MakeChecker> {
  const { MemoryStore } = await import("hono-rate-limiter");
  return ({ limit, windowMs }) => {
    const store: HitStore = new MemoryStore();
    store.init({ windowMs });
    return { kind: "sync", check: (key) => store.increment(key).totalHits <= limit };
  };
}
