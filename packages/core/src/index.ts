export * from "./algorithms/registry.ts";
export type { Clock } from "./clock/clock.ts";
export { timeFromSeconds } from "./clock/microseconds.ts";
export { SystemClock } from "./clock/system-clock.ts";
export { type ErrorCode, errorCodes, HeadgateError, StoreError, type StoreErrorCode } from "./errors.ts";
export type { CheckAllOptions, CheckOptions, CostOptions, NoOptions } from "./limiter/check-options.ts";
export type { Decision } from "./limiter/decision.ts";
export type { Explanation } from "./limiter/explain.ts";
export { IDEMPOTENCY_KEY_FORM, isIdempotencyKey } from "./limiter/idempotency-key.ts";
export { type LimitCheck, limitCheck } from "./limiter/limit-check.ts";
export type { Limiter } from "./limiter/limiter.ts";
export type { MemoryLimiter } from "./limiter/memory-limiter.ts";
export type { DecisionContext, LimiterOptions, OnDecision } from "./limiter/on-decision.ts";
export type { Batch, Check } from "./limiter/requests.ts";
export type { QueueName, RuleName, Rules } from "./limiter/rules.ts";
export type { Scheduled, ScheduleOptions } from "./limiter/schedule.ts";
export type { Verdict } from "./limiter/verdict.ts";
export type { WaitOptions } from "./limiter/wait.ts";
export type { Anchor, Limit } from "./limits/limit.ts";
export type { Rate } from "./limits/rate.ts";
export { limitFromSpec } from "./limits/spec.ts";
export { rateLimiter, type SharedOptions } from "./rate-limiter.ts";
export type { JournalEntry, ReservationJournal } from "./reservations/journal.ts";
export { MemoryStore, type MemoryStoreOptions } from "./stores/memory/memory-store.ts";
export type { Notifications } from "./stores/notifications.ts";
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
export { type CachedStore, cached } from "./wrappers/cached/cached.ts";
export type { CachedOptions } from "./wrappers/cached/cached-options.ts";
export type { CachedStats } from "./wrappers/cached/cached-stats.ts";
export type { DroppedUnits } from "./wrappers/cached/write-behind.ts";
export { type LeasedStore, leased } from "./wrappers/leased/leased.ts";
export type { LeasedOptions } from "./wrappers/leased/leased-options.ts";
export type { LeasedStats } from "./wrappers/leased/leased-stats.ts";
export type { DegradedChange } from "./wrappers/resilient/breaker.ts";
export type { OnError, Policy } from "./wrappers/resilient/on-error.ts";
export { type ResilientStore, resilient } from "./wrappers/resilient/resilient.ts";
export type { BreakerOptions, ResilientOptions } from "./wrappers/resilient/resilient-options.ts";
export type { ResilientStats } from "./wrappers/resilient/resilient-stats.ts";
