import type { MakeChecker } from "./subject.ts";

interface Hits {
  readonly totalHits: number;
}

/** The part used here: its own type requires the options of the whole middleware. */
interface HitStore {
  init(options: { windowMs: number }): void;
  increment(key: string): Promise<Hits>;
}

export async function load(): Promise<MakeChecker> {
  const { MemoryStore } = await import("express-rate-limit");
  return ({ limit, windowMs }) => {
    const store: HitStore = new MemoryStore();
    store.init({ windowMs });
    return {
      kind: "async",
      check: (key) => store.increment(key),
      allowed: ({ totalHits }: Hits) => totalHits <= limit,
    };
  };
}
