import { leased, type Store } from "headgate";
import { RedisStore } from "headgate/redis";
import { HEADGATE } from "../suite.ts";

export const LEASED = `${HEADGATE}-leased`;
export const ONE_CALL = `${HEADGATE}-one-call`;

/** A store, and how often it was asked. */
export interface Subject {
  readonly store: Store;
  /** How often Redis was asked so far, where that is not once for each check. */
  roundTrips?(): number;
  close(): Promise<void>;
}

export async function openSubject(name: string, url: string): Promise<Subject> {
  const redis = new RedisStore(url, name === ONE_CALL ? { maxBatch: 1 } : {});
  await redis.ready();
  if (name !== LEASED) return { store: redis, close: () => redis.close() };
  const store = leased(redis);
  return { store, roundTrips: () => store.stats.roundTrips, close: () => store.close() };
}
