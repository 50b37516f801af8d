import { gcra, rateLimiter } from "headgate";
import { RedisStore } from "headgate/redis";
import type { Step, StepOptions } from "./subject.ts";

/** Reserves an estimate and settles the real cost. */
export async function make({ url, limit }: StepOptions): Promise<Step> {
  const store = new RedisStore(url);
  await store.ready();
  const limiter = rateLimiter({ tokens: gcra({ limit, windowMs: 60_000 }) }, { store });
  return async (key) => {
    const reservation = await limiter.reserve([{ rule: "tokens", key, cost: 10 }]);
    if (!reservation.allowed || reservation.verdict.degraded) throw new Error("the reservation was denied");
    await reservation.settle({ tokens: 4 });
  };
}
