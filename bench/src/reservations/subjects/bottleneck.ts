import Bottleneck from "bottleneck";
import { Redis } from "ioredis";
import type { Step, StepOptions } from "./subject.ts";

/** Runs an empty job, with its limit of concurrent jobs in Redis. */
export async function make({ url, limit }: StepOptions): Promise<Step> {
  const jobs = new Bottleneck.Group({ datastore: "ioredis", Redis, clientOptions: url, maxConcurrent: limit });
  jobs.on("error", () => {});
  return async (key) => {
    await jobs.key(key).schedule(async () => {});
  };
}
