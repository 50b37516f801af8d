import { resilient } from "headgate";
import { RedisStore } from "headgate/redis";
import type { AsyncChecker } from "../../subjects/subject.ts";
import { checker } from "./headgate.ts";
import type { SharedLimiterOptions } from "./subject.ts";

export async function make(options: SharedLimiterOptions): Promise<AsyncChecker> {
  return checker(resilient(new RedisStore(options.url)), options);
}
