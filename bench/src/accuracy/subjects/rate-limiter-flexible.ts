import { Redis } from "ioredis";
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from "rate-limiter-flexible";
import { KEY, LIMIT, type Place, type Subject, WINDOW_MS } from "../subject.ts";

/**
 * Its wiki recommends `enableOfflineQueue: false`, blocking exhausted keys in memory, and an insurance limiter that has
 * the share of one process.
 */
export async function open({ redisUrl, processes }: Place): Promise<Subject> {
  const storeClient = new Redis(redisUrl, { enableOfflineQueue: false, lazyConnect: true });
  storeClient.on("error", () => {});
  await storeClient.connect();
  const duration = WINDOW_MS / 1_000;
  const limiter = new RateLimiterRedis({
    storeClient,
    points: LIMIT,
    duration,
    inMemoryBlockOnConsumed: LIMIT,
    insuranceLimiter: new RateLimiterMemory({ points: Math.floor(LIMIT / processes), duration }),
  });
  return {
    async check() {
      try {
        await limiter.consume(KEY);
        return true;
      } catch (error) {
        if (error instanceof RateLimiterRes) return false;
        throw error;
      }
    },
  };
}
