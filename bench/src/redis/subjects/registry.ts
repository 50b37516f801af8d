import { HEADGATE } from "../../suite.ts";
import type { MakeSharedChecker, SharedSubjectModule } from "./subject.ts";

export const RESILIENT = `${HEADGATE}-resilient`;
export const CACHED = `${HEADGATE}-cached`;
export const FLEXIBLE = "rate-limiter-flexible";
export const FLEXIBLE_BLOCKING = "rate-limiter-flexible with inMemoryBlockOnConsumed";
export const RATE_LIMIT_REDIS = "rate-limit-redis";

/** Each in a separate module, so that a process loads only what it measures. */
const modules: Readonly<Record<string, () => Promise<SharedSubjectModule>>> = {
  [HEADGATE]: () => import("./headgate.ts"),
  [RESILIENT]: () => import("./headgate-resilient.ts"),
  [CACHED]: () => import("./headgate-cached.ts"),
  [FLEXIBLE]: () => import("./rate-limiter-flexible.ts"),
  [FLEXIBLE_BLOCKING]: () => import("./rate-limiter-flexible-blocking.ts"),
  [RATE_LIMIT_REDIS]: () => import("./rate-limit-redis.ts"),
};

export async function loadSharedSubject(name: string): Promise<MakeSharedChecker> {
  const module = modules[name];
  if (module === undefined) throw new Error(`there is no subject ${name}`);
  return (await module()).make;
}
