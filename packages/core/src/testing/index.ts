import type { MemoryLimiter } from "../limiter/memory-limiter.ts";
import type { LimiterOptions } from "../limiter/on-decision.ts";
import type { Rules } from "../limiter/rules.ts";
import { requireOptions } from "../options.ts";
import { rateLimiter } from "../rate-limiter.ts";
import type { MemoryStoreOptions } from "../stores/memory/memory-store.ts";
import { ManualClock } from "./manual-clock.ts";

export { ManualClock } from "./manual-clock.ts";

/** Options of `testLimiter`. */
export interface TestLimiterOptions extends Omit<MemoryStoreOptions, "clock">, LimiterOptions {
  /** Initial time in milliseconds since the epoch. Default 0. */
  readonly startMs?: number | undefined;
}

/** Creates a limiter with a clock that moves only when the test advances it. */
export function testLimiter<const R extends Rules>(
  rules: R,
  options: TestLimiterOptions = {},
): { limiter: MemoryLimiter<R>; clock: ManualClock } {
  requireOptions(options, OPTIONS);
  const { startMs, ...store } = options;
  const clock = new ManualClock(startMs);
  return { limiter: rateLimiter(rules, { ...store, clock }), clock };
}

const OPTIONS: ReadonlySet<string> = new Set(["startMs", "maxKeys", "maxIdempotencyKeys", "sweep", "onDecision"]);
