import { leased } from "headgate";
import { RedisStore, redisOptions } from "headgate/redis";
import { Redis } from "ioredis";
import { storeChecker } from "./store-checker.ts";
import { LEASED, ONE_CALL, type Place, type Subject } from "./subjects.ts";

/** Long waits should show in the figures instead of failing. */
const TIMEOUT_MS = 10_000;

/** Counts commands: the store sends one per call, however many checks it contains. */
class CountingRedis extends Redis {
  commands = 0;

  override sendCommand(...args: Parameters<Redis["sendCommand"]>): unknown {
    this.commands += 1;
    return super.sendCommand(...args);
  }
}

export async function openSubject(name: string, { address }: Place): Promise<Subject> {
  const client = new CountingRedis(address, { ...redisOptions, socketTimeout: TIMEOUT_MS });
  const redis = new RedisStore(client, { timeoutMs: TIMEOUT_MS, ...(name === ONE_CALL ? { maxBatch: 1 } : {}) });
  await redis.ready();
  const store = name === LEASED ? leased(redis) : redis;
  return {
    checker: storeChecker(store),
    roundTrips: () => client.commands,
    async close() {
      await store.close();
      client.disconnect();
    },
  };
}
