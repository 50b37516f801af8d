import { Redis } from "ioredis";
import type { Step, StepOptions } from "./subject.ts";

/** The part of redis-semaphore that is used here. */
interface SemaphoreModule {
  readonly Semaphore: new (
    client: Redis,
    key: string,
    limit: number,
  ) => { acquire(): Promise<void>; release(): Promise<void> };
}

/** Not a dependency of the benchmarks: `npm install --no-save redis-semaphore` adds it for a run. */
const NAME: string = "redis-semaphore";

export async function make({ url, limit }: StepOptions): Promise<Step> {
  const { Semaphore }: SemaphoreModule = await import(NAME);
  const client = new Redis(url);
  await client.ping();
  return async (key) => {
    const semaphore = new Semaphore(client, key, limit);
    await semaphore.acquire();
    await semaphore.release();
  };
}
