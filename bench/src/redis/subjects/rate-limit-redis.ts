import { Redis } from "ioredis";
import { RedisStore } from "rate-limit-redis";
import type { AsyncChecker } from "../../subjects/subject.ts";
import type { SharedLimiterOptions } from "./subject.ts";

interface Hits {
  readonly totalHits: number;
}

/** The part used here: its own type requires the options of the whole middleware. */
interface HitStore {
  init(options: { windowMs: number }): Promise<void>;
  increment(key: string): Promise<Hits>;
}

export async function make({ url, limit, windowMs }: SharedLimiterOptions): Promise<AsyncChecker> {
  const client = new Redis(url);
  await client.ping();
  const store: HitStore = new RedisStore({
    // As documented for ioredis.
    sendCommand: (command: string, ...args: string[]) => client.call(command, ...args) as Promise<number[]>,
  });
  await store.init({ windowMs });
  return {
    kind: "async",
    check: (key) => store.increment(key),
    allowed: ({ totalHits }: Hits) => totalHits <= limit,
  };
}
