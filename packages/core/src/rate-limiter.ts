import type { Clock } from "./clock/clock.ts";
import { SystemClock } from "./clock/system-clock.ts";
import { HeadgateError, shown } from "./errors.ts";
import { Limiter } from "./limiter/limiter.ts";
import { MemoryLimiter } from "./limiter/memory-limiter.ts";
import { type LimiterOptions, requireOnDecision } from "./limiter/on-decision.ts";
import { ReportingLimiter, ReportingMemoryLimiter } from "./limiter/reporting-limiter.ts";
import type { Rules } from "./limiter/rules.ts";
import { requireOptions } from "./options.ts";
import { MemoryStore, type MemoryStoreOptions } from "./stores/memory/memory-store.ts";
import type { Store } from "./stores/store.ts";

const OPTIONS: ReadonlySet<string> = new Set([
  "maxKeys",
  "maxIdempotencyKeys",
  "clock",
  "sweep",
  "store",
  "onDecision",
]);
/** The only options allowed with a store: a memory store has its own clock and size. */
const STORE_ALONE: ReadonlySet<string> = new Set(["store", "onDecision"]);
const STORE_OPTIONS: ReadonlySet<string> = new Set(["store", "clock", "onDecision"]);

/** Detects a store passed in place of the options, a likely mistake that the compiler cannot see. */
function isStore(options: unknown): boolean {
  return typeof options === "object" && options !== null && "apply" in options;
}

/** Options of a limiter with a store. */
export interface SharedOptions extends LimiterOptions {
  /** Where counters are kept, such as a `RedisStore`. */
  readonly store: Store;
  /**
   * Clock for waiting (`wait`, `schedule`) and for reservations. Decisions use the store's own clock. Default: the system
   * clock.
   */
  readonly clock?: Clock | undefined;
}

/** A limiter on a memory store that others in this process may share. */
interface MemoryOptions extends LimiterOptions {
  readonly store: MemoryStore;
}

/**
 * Creates a limiter with named rules: `rateLimiter({ api: tokenBucket("100/m") })`. Without a store, counters are kept in
 * memory, and methods without promises, such as `checkSync`, are available.
 */
export function rateLimiter<const R extends Rules>(
  rules: R,
  options?: (MemoryStoreOptions & LimiterOptions) | MemoryOptions,
): MemoryLimiter<R>;
export function rateLimiter<const R extends Rules>(rules: R, options: SharedOptions): Limiter<R>;
export function rateLimiter<const R extends Rules>(
  rules: R,
  options: (MemoryStoreOptions & LimiterOptions) | SharedOptions | MemoryOptions = {},
): Limiter<R> {
  if (isStore(options)) {
    throw new HeadgateError("HG_BAD_OPTION", "options", "is a store: pass it as { store }");
  }
  requireOptions(options, OPTIONS);
  const onDecision = options.onDecision === undefined ? undefined : requireOnDecision(options.onDecision);
  const overMemory = (store: MemoryStore): MemoryLimiter<R> =>
    onDecision === undefined ? new MemoryLimiter(rules, store) : new ReportingMemoryLimiter(rules, store, onDecision);
  if (!("store" in options)) {
    const { onDecision: _, ...own } = options;
    return overMemory(new MemoryStore(own));
  }
  const { store } = options;
  if (store instanceof MemoryStore) {
    requireOptions(options, STORE_ALONE);
    return overMemory(store);
  }
  requireOptions(options, STORE_OPTIONS);
  if (typeof store?.apply !== "function") {
    throw new HeadgateError("HG_BAD_OPTION", "store", `must be a store such as new MemoryStore(), got ${shown(store)}`);
  }
  const clock = ("clock" in options ? options.clock : undefined) ?? new SystemClock();
  return onDecision === undefined
    ? new Limiter(rules, store, clock)
    : new ReportingLimiter(rules, store, clock, onDecision);
}
