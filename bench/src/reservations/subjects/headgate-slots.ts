import { concurrency, rateLimiter } from "headgate";
import { RedisStore } from "headgate/redis";
import type { Step, StepOptions } from "./subject.ts";

/** Runs an empty task in a slot. */
export async function make({ url, limit }: StepOptions): Promise<Step> {
  const store = new RedisStore(url);
  await store.ready();
  const limiter = rateLimiter({ slots: concurrency(limit) }, { store });
  return async (key) => {
    const { ran } = await limiter.run("slots", key, () => {});
    if (!ran) throw new Error("the task did not run");
  };
}
