import type { Clock } from "../clock/clock.ts";
import type { Limit } from "../limits/limit.ts";
import type { Holds } from "../reservations/journal.ts";
import type { Policy } from "../wrappers/resilient/on-error.ts";
import type { Bulletin } from "./notifications.ts";

/** A named limit. */
export interface Rule {
  readonly name: string;
  readonly limit: Limit;
  /** What stores count under (default: the name). Rules with the same counter share what a key has used. */
  readonly counter?: string;
  /** What `resilient` does under this rule while the store fails. Default: what its own option says. */
  readonly onError?: Policy;
}

/** One check of a request. */
export interface Operation {
  readonly rule: Rule;
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
 * - `take`: a request; charged to all of its operations or, if any refuses, to none.
 * - `peek`: the same question, charging nothing.
 * - `penalize`: charged whether it fits or not.
 * - `refund`: given back, never more than was used.
 * - `reset`: forgotten, as if never used.
 */
export type Action = "take" | "peek" | "penalize" | "refund" | "reset";

/** Who decided: the store itself, quota leased from it, a local cache, or what stands in when it fails. */
export type Source = "store" | "lease" | "cache" | "fallback";

/** What a store says to one operation, in units and microseconds. */
export interface Answer {
  /**
   * The store's clock at the decision, in whole microseconds since the epoch. Every absolute time told to a client is
   * this plus a wait, rounded once: the clock has moved on by the time an answer is read. An answer that is repeated
   * under an idempotency key has the time of the first decision.
   */
  readonly time: number;
  /** Whether this limit has room; with `take`, all of a request's answers must say so for it to be charged. */
  readonly allowed: boolean;
  /** What could still be taken now, after the operation. */
  readonly remaining: number;
  /** Until the same operation would be allowed; 0 if it is, Infinity if it can never be. */
  readonly retryAfter: number;
  /** Until the full quota is there again. */
  readonly resetAfter: number;
  readonly source: Source;
  /** Whether the store was not asked, so that the answer may be off. */
  readonly degraded: boolean;
  /** How the lease stood that it was paid from, or would have been. */
  readonly lease?: LeaseView;
}

/** Quota that this node holds of a key's. */
export interface LeaseView {
  /** Units held here. */
  readonly held: number;
  /** Units that the pool had left when it was last heard of. */
  readonly pool: number;
  /** Which window of the pool it is of, counted by this node. */
  readonly epoch: number;
  /** In how many milliseconds it is worth nothing. */
  readonly deadlineMs: number;
}

export interface ApplyOptions {
  /**
   * The same request under the same key, within five minutes, gets the very answers of the first and is
   * charged once; another request under it is refused with HG_IDEMPOTENCY_CONFLICT. Each identity (the key of
   * the first operation) has idempotency keys of its own.
   */
  readonly idempotencyKey?: string;
  /**
   * What else the request is about, such as an endpoint: a request about something else is another one, also if its
   * operations are the same.
   */
  readonly context?: string;
  /** How long the answers are kept under the idempotency key, in microseconds, if not five minutes. */
  readonly rememberFor?: number;
  /** From this time of the store's clock on, in microseconds, the request is void: it charges nothing, and fails with HG_STORE_TIMEOUT. */
  readonly voidFrom?: number;
  /** Only the store itself may answer: where it cannot, the call fails, and nothing stands in for it. */
  readonly storeOnly?: boolean;
}

/** The servers of a store that keeps keys on several of them. One that fails says nothing of the others. */
export interface StoreNodes {
  /** The server that has a key, as far as is known here; empty if that is not known. */
  of(key: string): string;
  /** All servers that have keys now; none if that is not known. */
  all(): readonly string[];
}

/**
 * Keeps what was used, and makes each request one atomic step. Answers come in the order of the operations.
 * A store that fails throws, or rejects with, a StoreError.
 */
export interface Store {
  /** The store's own time, as well as it is known here. */
  readonly clock?: Clock;
  /** How its nodes tell each other what they have seen. */
  readonly bulletin?: Bulletin;
  /** Where reservations are written down, so that those of a process that dies are released. A store that dies with the process needs none. */
  readonly holds?: Holds;
  /** Where keys are on several servers, which of them has a key. */
  readonly nodes?: StoreNodes;
  /** Is told of each rule before the first request under it; throws if the rule cannot be kept here. */
  open?(rule: Rule): void;
  apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]>;
}
