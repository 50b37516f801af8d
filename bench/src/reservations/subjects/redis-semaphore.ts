import { Redis } from "ioredis";
import { Semaphore } from "redis-semaphore";
import type { Step, StepOptions } from "./subject.ts";

/** Takes a slot of a semaphore and returns it. */
export async function make({ url, limit }: StepOptions): Promise<Step> {
  const client = new Redis(url);
  await client.ping();
  return async (key) => {
    const semaphore = new Semaphore(client, key, limit);
    await semaphore.acquire();
    await semaphore.release();
  };
}
