import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { Rules } from "../limiter/rules.ts";
import { rateLimiter } from "../rate-limiter.ts";
import { ManualClock } from "./manual-clock.ts";

export { ManualClock } from "./manual-clock.ts";

/** A limiter whose time passes only when the test says so. */
export function testLimiter<const R extends Rules>(
  rules: R,
  startMs = 0,
): { limiter: MemoryLimiter<R>; clock: ManualClock } {
  const clock = new ManualClock(startMs);
  return { limiter: rateLimiter(rules, { clock }), clock };
}
