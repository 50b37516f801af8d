import { Redis } from "ioredis";
import { RateLimiterRedis, RateLimiterUnion } from "rate-limiter-flexible";
import type { AsyncChecker } from "../../subjects/subject.ts";
import type { SharedLimiterOptions } from "./subject.ts";

export function make(options: SharedLimiterOptions): Promise<AsyncChecker> {
  return checker(options, {});
}

/** Its documentation recommends `inMemoryBlockOnConsumed` against floods. */
export async function checker(
  { url, limit, windowMs, limits = 1 }: SharedLimiterOptions,
  further: { readonly inMemoryBlockOnConsumed?: number },
): Promise<AsyncChecker> {
  const storeClient = new Redis(url);
  await storeClient.ping();
  const [first, ...others] = Array.from(
    { length: limits },
    (_, i) =>
      new RateLimiterRedis({
        storeClient,
        keyPrefix: `limit-${i}`,
        points: limit,
        duration: windowMs / 1000,
        ...further,
      }),
  );
  const limiter = others.length === 0 ? first : new RateLimiterUnion(first, ...others);
  return { kind: "async", check: (key) => limiter.consume(key), allowed: () => true };
}
