import type { Clock } from "../clock/clock.ts";
import type { Limit } from "../limits/limit.ts";
import type { EntryStep, ReservationJournal } from "../reservations/journal.ts";
import type { Policy } from "../wrappers/resilient/on-error.ts";
import type { Notifications } from "./notifications.ts";

/** A named limit. */
export interface Rule<Name extends string = string> {
  readonly name: Name;
  /** The limit of all keys, unless an operation has its own. */
  readonly limit: Limit;
  /** Name under which stores count. Rules with the same counter share what a key has used. Default: the rule's name. */
  readonly counter?: string;
  /** What `resilient` does under this rule while the store fails. Default: the `onError` option of `resilient`. */
  readonly onError?: Policy;
}

/** One check of a request. */
export interface Operation<Name extends string = string> {
  readonly rule: Rule<Name>;
  /** Whose quota is charged. */
  readonly key: string;
  /** Units that it costs: a whole number of at least 0. */
  readonly cost: number;
  /**
   * The limit of this call, if it is not the rule's: a tenant's own limit, for example. Only `limit` and `burst` may
   * differ from the rule's. It counts on the same counter, and decides for this call only.
   */
  readonly limit?: Limit;
  /** With `settle`: what was taken before, and is now replaced by `cost`. */
  readonly reserved?: Reserved;
  /** The reservation that holds the slots of a concurrency limit. Required to take, extend and release them. */
  readonly slot?: SlotHolder;
}

/** Units that were taken on an estimate. */
export interface Reserved {
  readonly cost: number;
  /** When they stop counting, on the store's clock, in microseconds. From then on, nothing is refunded. */
  readonly until: number;
}

/** The reservation that holds slots. */
export interface SlotHolder {
  readonly id: string;
  /** Length of its lease, from this operation on, on the store's clock, in microseconds. */
  readonly forUs: number;
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
 * - `takeFirst`: charges the first of them that is not denied, and none of the others. Those before it are denied, and
 *   those after it are answered as by `peek`, so the first answer that is allowed is that of the charged operation. No
 *   two of them have the same counter and key. Only for stores that declare it (`Store.takesFirst`).
 * - `charge`: decides each operation as `take` would if it were alone, and charges it even if it is denied.
 * - `peek`: decides without charging.
 * - `penalize`: charges even if the units are not available.
 * - `refund`: returns units, at most as many as are used.
 * - `reset`: forgets what was used.
 * - `settle`: replaces the units in `reserved` with `cost`: refunds the difference while they count, or charges it even
 *   if it is not available.
 *
 * Under a concurrency limit, `takeFirst`, `charge`, `penalize`, `refund` and `settle` fail with HG_NEEDS_SLOT, `take` of
 * slots that the reservation already holds is allowed and changes nothing, and there are two more actions:
 * - `extend`: lets the lease of each operation's slots end later, never earlier. Slots that the store has lost, or whose
 *   lease has ended, are taken again if there is room; otherwise the answer is a denial, and the slots are lost. The
 *   operations are independent of each other.
 * - `release`: frees the slots. Until their lease would have ended, and for `forUs` from now on, the same reservation
 *   cannot take or extend them again, so that a late or repeated message has no effect.
 */
export type Action =
  | "take"
  | "takeFirst"
  | "charge"
  | "peek"
  | "penalize"
  | "refund"
  | "reset"
  | "settle"
  | "extend"
  | "release";

const ASKED: ReadonlySet<Action> = new Set(["take", "takeFirst", "charge", "peek", "extend"]);

/** The cost that the answer to an operation refers to: corrections are answered as a peek of cost 1 is. */
export function askedCost(action: Action, { cost }: Operation): number {
  return ASKED.has(action) ? cost : 1;
}

/** What decided: the store, quota leased from it, a local cache, or the fallback while the store fails. */
export type Source = "store" | "lease" | "cache" | "fallback";

/** The answer of a store to one operation, in units and microseconds. */
export interface Answer {
  /**
   * The store's time of the decision, in microseconds since the epoch. Absolute times reported to clients are derived
   * from it. An answer repeated under an idempotency key has the time of the first decision.
   */
  readonly time: number;
  /**
   * Whether this limit has room. With `take`, the request is charged only if all of its answers say so; with
   * `takeFirst`, to the first operation whose answer does.
   */
  readonly allowed: boolean;
  /** Units left after the operation. */
  readonly remaining: number;
  /** Time until the same operation would be allowed: 0 if it is, Infinity if it can never be. */
  readonly retryAfter: number;
  /**
   * Set if `retryAfter` is an upper bound: the time until a lease ends, although its slot will probably be released
   * earlier.
   */
  readonly retryIsUpperBound?: true;
  /** Time until the full quota is available again. */
  readonly resetAfter: number;
  /** Under a concurrency limit: slots in use after the operation. */
  readonly inUse?: number;
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
  /** With `take`: a denial is not remembered under the idempotency key, so that the request can be sent until it is allowed. */
  readonly forgetsDenial?: boolean;
  /**
   * From this time of the store's clock on, in microseconds, the request is void: it charges nothing and fails with
   * HG_STORE_TIMEOUT.
   */
  readonly voidFrom?: number;
  /**
   * How long the caller waits, in microseconds, if that is shorter than the deadline of `resilient`. Then the fallback
   * answers, and the request is void. This does not count as a failure of the store.
   */
  readonly answerWithin?: number;
  /**
   * Records the request in the journal in the same atomic step, if the store's journal can do that (`isAtomic`). With
   * `take`: adds an entry if the request is allowed. Such a request is not remembered under its idempotency key unless
   * the entry says so; repeated, it has no effect while there is the entry or a record of its end. With `settle`: removes
   * the entry.
   */
  readonly entry?: EntryStep;
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
  /**
   * Set if `apply` knows the action `takeFirst`. `firstOf` of a limiter fails without it: a store might charge all of the
   * alternatives, or none of them.
   */
  readonly takesFirst?: boolean;
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
  /** Carries out the operations of one request in one atomic step. Returns an answer for each operation, in order. */
  apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]>;
}
