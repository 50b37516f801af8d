import type { Redis } from "ioredis";
import { undisturbedNow } from "../run/undisturbed-time.ts";

/** The cost of some work in ms: elapsed time, and CPU time of this process and of Redis. */
export interface Cost<T> {
  readonly result: T;
  readonly elapsedMs: number;
  readonly clientMs: number;
  readonly redisMs: number;
}

export async function costOf<T>(redis: Redis, work: () => Promise<T>): Promise<Cost<T>> {
  const redisBefore = await processorMs(redis);
  const clientBefore = process.cpuUsage();
  const start = undisturbedNow();
  const result = await work();
  const elapsedMs = undisturbedNow() - start;
  const { user, system } = process.cpuUsage(clientBefore);
  return {
    result,
    elapsedMs,
    clientMs: (user + system) / 1000,
    redisMs: (await processorMs(redis)) - redisBefore,
  };
}

async function processorMs(redis: Redis): Promise<number> {
  const usage = await redis.info("cpu");
  const seconds = [/^used_cpu_user:(.*)/m, /^used_cpu_sys:(.*)/m].map((line) => Number(line.exec(usage)?.[1]));
  return 1000 * (seconds[0] + seconds[1]);
}
