import type { Operation } from "../../stores/store.ts";
import type { Breakers } from "./breakers.ts";
import type { Fallback } from "./fallback.ts";
import type { Policy } from "./on-error.ts";
import type { Failure } from "./store-failure.ts";

/** Live statistics of a `resilient` store. */
export interface ResilientStats {
  /** Calls to this store. */
  readonly calls: number;
  /** Calls that the inner store did not answer, by error code; `other` for errors that are not a `StoreError`. */
  readonly failures: Readonly<Record<Failure, number>>;
  /** Calls answered by the fallback, by policy. */
  readonly fallbacks: Readonly<Record<Policy, number>>;
  /** Calls answered by the fallback, by rule. A call counts for each of its rules. */
  readonly fallbacksByRule: Readonly<Record<string, number>>;
  /** Fallbacks for calls during which the store answered others. If this grows, the deadline may be too short. */
  readonly fallbacksWhileAnswering: number;
  /** Calls answered by the fallback because the caller could not wait as long as the store may take. */
  readonly callerDeadlines: number;
  /** Number of keys for which the store's last answer is remembered, at most `maxKeys`. */
  readonly knownKeys: number;
  /** `open` while the store, or one of its servers, is considered down. */
  readonly breaker: "closed" | "open";
  /** Servers that are considered down; `""` stands for the whole store. */
  readonly openNodes: readonly string[];
  /** Since when the breaker is in this state, in milliseconds since the epoch. */
  readonly sinceMs: number;
}

export class Counters implements ResilientStats {
  calls = 0;
  readonly failures = { HG_STORE_TIMEOUT: 0, HG_STORE_UNREACHABLE: 0, HG_STORE_REFUSED: 0, other: 0 };
  readonly fallbacks = { local: 0, allow: 0, deny: 0 };
  // Without a prototype, because any string can be the name of a rule.
  readonly fallbacksByRule: Record<string, number> = Object.create(null);
  fallbacksWhileAnswering = 0;
  callerDeadlines = 0;
  declare readonly knownKeys: number;
  declare readonly breaker: "closed" | "open";
  declare readonly openNodes: readonly string[];
  declare readonly sinceMs: number;

  constructor(breakers: Breakers, standIn: Fallback) {
    // Own properties, so that they are printed with the others.
    Object.defineProperties(this, {
      knownKeys: { enumerable: true, get: () => standIn.knownKeys },
      breaker: { enumerable: true, get: () => breakers.state },
      openNodes: { enumerable: true, get: () => breakers.openNodes },
      sinceMs: { enumerable: true, get: () => breakers.since / 1000 },
    });
  }

  fellBack(policy: Policy, operations: readonly Operation[]): void {
    this.fallbacks[policy] += 1;
    for (const { rule } of operations) {
      this.fallbacksByRule[rule.name] = (this.fallbacksByRule[rule.name] ?? 0) + 1;
    }
  }
}
