import type { Clock } from "../clock/clock.ts";
import type { Limit } from "../limits/limit.ts";
import type { ReservationJournal } from "../reservations/journal.ts";
import type { Policy } from "../wrappers/resilient/on-error.ts";
import type { Notifications } from "./notifications.ts";

/** A named limit. */
export interface Rule<Name extends string = string> {
  readonly name: Name;
  readonly limit: Limit;
  /** What stores count under (default: the name). Rules with the same counter share what a key has used. */
  readonly counter?: string;
  /** What `resilient` does under this rule while the store fails. Default: the `onError` option of `resilient`. */
  readonly onError?: Policy;
}

/** One check of a request. */
export interface Operation<Name extends string = string> {
  readonly rule: Rule<Name>;
  readonly key: string;
  readonly cost: number;
  /**
   * The limit of this call, if it is not the rule's: a tenant's own limit, for example. Only `limit` and `burst` may
   * differ from the rule's. It counts on the same counter, and decides for this call only.
   */
  readonly limit?: Limit;
}

export function counterOf({ counter, name }: Rule): string {
  return counter ?? name;
}

export function limitOf({ limit, rule }: Operation): Limit {
  return limit ?? rule.limit;
}

/**
 * What a store does with operations:
 * - `take`: charges all of them or, if one is denied, none.
 * - `peek`: decides without charging.
 * - `penalize`: charges even if the units are not available.
 * - `refund`: returns units, at most as many as are used.
 * - `reset`: forgets what was used.
 */
export type Action = "take" | "peek" | "penalize" | "refund" | "reset";

/** What decided: the store, quota leased from it, a local cache, or the fallback while the store fails. */
export type Source = "store" | "lease" | "cache" | "fallback";

/** The answer of a store to one operation, in units and microseconds. */
export interface Answer {
  /**
   * The store's time of the decision, in microseconds since the epoch. Absolute times reported to clients are derived
   * from it. An answer repeated under an idempotency key has the time of the first decision.
   */
  readonly time: number;
  /** Whether this limit has room. With `take`, the request is charged only if all of its answers say so. */
  readonly allowed: boolean;
  /** Units left after the operation. */
  readonly remaining: number;
  /** Time until the same operation would be allowed: 0 if it is, Infinity if it can never be. */
  readonly retryAfter: number;
  /** Time until the full quota is available again. */
  readonly resetAfter: number;
  readonly source: Source;
  /** Whether the store could not be asked, so that the answer may be inaccurate. */
  readonly degraded: boolean;
  /** The lease that paid, or would have paid, for the operation. */
  readonly lease?: LeaseView;
}

/** Quota that this process holds for a key. */
export interface LeaseView {
  /** Units held by this process. */
  readonly held: number;
  /** Units that the pool had left when it last replied. */
  readonly pool: number;
  /** The window of the pool, as counted by this process. */
  readonly epoch: number;
  /** Milliseconds until the lease expires. */
  readonly deadlineMs: number;
}

/** Options of `Store.apply`. */
export interface ApplyOptions {
  /**
   * For five minutes, the same request with the same idempotency key receives the same answers and is charged once. A
   * different request with it fails with HG_IDEMPOTENCY_CONFLICT. Idempotency keys are separate for each key of the
   * first operation.
   */
  readonly idempotencyKey?: string;
  /**
   * What else identifies the request, such as an endpoint: requests with a different context are different requests.
   */
  readonly context?: string;
  /** How long answers are remembered under the idempotency key, in microseconds. Default: five minutes. */
  readonly rememberFor?: number;
  /**
   * From this time of the store's clock on, in microseconds, the request is void: it charges nothing and fails with
   * HG_STORE_TIMEOUT.
   */
  readonly voidFrom?: number;
  /** Only the store itself may answer. If it cannot, the call fails instead of using a fallback. */
  readonly storeOnly?: boolean;
}

/** The servers of a store that distributes keys over several of them. */
export interface StoreNodes {
  /** The server that holds a key, or an empty string if it is not known. */
  of(key: string): string;
  /** All servers that hold keys; empty if they are not known. */
  all(): readonly string[];
}

/**
 * Keeps counters and makes each request atomic. Answers are in the order of the operations. A store that fails throws,
 * or rejects with, a `StoreError`.
 */
export interface Store {
  /** The store's clock, as far as it is known in this process. */
  readonly clock?: Clock;
  /** Notifications between processes that share the store. */
  readonly notifications?: Notifications;
  /**
   * Journal of reservations, from which those of a process that died are released. Not needed by stores that end with
   * the process.
   */
  readonly journal?: ReservationJournal;
  /** The servers that hold the keys, if there are several. */
  readonly nodes?: StoreNodes;
  /**
   * Called with each rule before its first request, and when its limit changes, then with the previous limit. Throws if
   * the store cannot support the rule.
   */
  open?(rule: Rule, previous?: Limit): void;
  /** Resolves when the store can be used, so that the first request need not wait. Rejects with a `StoreError`. */
  ready?(): Promise<void>;
  /** Finishes pending work and releases connections and timers. */
  close?(): void | Promise<void>;
  apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]>;
}
