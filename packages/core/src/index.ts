export type { Clock } from "./clock/clock.ts";
export { timeFromSeconds } from "./clock/microseconds.ts";
export { SystemClock } from "./clock/system-clock.ts";
export { type ErrorCode, errorCodes, HeadgateError, StoreError, type StoreErrorCode } from "./errors.ts";
export type { CheckAllOptions, CheckOptions, CostOptions, NoOptions } from "./limiter/check-options.ts";
export type { Decision } from "./limiter/decision.ts";
export type { Explanation } from "./limiter/explain.ts";
export { IDEMPOTENCY_KEY_FORM, isIdempotencyKey } from "./limiter/idempotency-key.ts";
export type { Limiter } from "./limiter/limiter.ts";
export type { MemoryLimiter } from "./limiter/memory-limiter.ts";
export type { DecisionContext, LimiterOptions, OnDecision } from "./limiter/on-decision.ts";
export type { Batch, Check } from "./limiter/requests.ts";
export type { QueueName, RuleName, Rules } from "./limiter/rules.ts";
export type { Scheduled, ScheduleOptions } from "./limiter/schedule.ts";
export type { Verdict } from "./limiter/verdict.ts";
export type { WaitOptions } from "./limiter/wait.ts";
export {
  type BucketedWindowOptions,
  type BurstOptions,
  bucketedWindow,
  type FixedWindowOptions,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "./limits/builders.ts";
export type { AlgorithmName, Anchor, Limit } from "./limits/limit.ts";
export type { Rate } from "./limits/rate.ts";
export { limitFromSpec } from "./limits/spec.ts";
export { rateLimiter, type SharedOptions } from "./rate-limiter.ts";
export type { Bulletin } from "./stores/bulletin.ts";
export { type CachedStore, cached } from "./stores/cached/cached.ts";
export { type LimitCheck, limitCheck } from "./stores/cached/limit-check.ts";
export type { CachedOptions } from "./stores/cached/options.ts";
export type { CachedStats } from "./stores/cached/stats.ts";
export type { DroppedUnits } from "./stores/cached/write-behind.ts";
export type { Hold, Holds } from "./stores/holds.ts";
export { type LeasedStore, leased } from "./stores/leased/leased.ts";
export type { LeasedOptions } from "./stores/leased/options.ts";
export { isLeasable } from "./stores/leased/pool.ts";
export type { LeasedStats } from "./stores/leased/stats.ts";
export { MemoryStore, type MemoryStoreOptions } from "./stores/memory/memory-store.ts";
export type { DegradedChange } from "./stores/resilient/breaker.ts";
export type { BreakerOptions, ResilientOptions } from "./stores/resilient/options.ts";
export type { OnError, Policy } from "./stores/resilient/policy.ts";
export { type ResilientStore, resilient } from "./stores/resilient/resilient.ts";
export type { ResilientStats } from "./stores/resilient/stats.ts";
export type {
  Action,
  Answer,
  ApplyOptions,
  LeaseView,
  Operation,
  Rule,
  Source,
  Store,
  StoreNodes,
} from "./stores/store.ts";
