import type { Operation } from "../../stores/store.ts";
import type { Breakers } from "./breakers.ts";
import type { StandIn } from "./fallback.ts";
import type { Policy } from "./on-error.ts";
import type { Failure } from "./store-failure.ts";

/** What a resilient store has seen so far. It is live: the numbers grow. */
export interface ResilientStats {
  readonly calls: number;
  /** Calls that the store did not answer, by the code of the error; `other` is what was no StoreError. */
  readonly failures: Readonly<Record<Failure, number>>;
  /** Calls that were answered in the store's place, by the policy that held. */
  readonly fallbacks: Readonly<Record<Policy, number>>;
  /** The same by rule; a call counts for each of its rules. */
  readonly fallbacksByRule: Readonly<Record<string, number>>;
  /** Of the fallbacks, those for calls during which the store answered others: the deadline may be too short for it. */
  readonly fallbacksWhileAnswering: number;
  /** About how many keys it is known what the store last said; never more than `maxKeys`. */
  readonly knownKeys: number;
  /** `open` while the store is given up, or one of its servers is. */
  readonly breaker: "closed" | "open";
  /** The servers that are given up; `""` stands for the whole store. */
  readonly openNodes: readonly string[];
  /** Since when the breaker is so, in milliseconds since the epoch. */
  readonly sinceMs: number;
}

export class Counters implements ResilientStats {
  calls = 0;
  readonly failures = { HG_STORE_TIMEOUT: 0, HG_STORE_UNREACHABLE: 0, HG_STORE_REFUSED: 0, other: 0 };
  readonly fallbacks = { local: 0, allow: 0, deny: 0 };
  // Without a prototype: any string may be the name of a rule.
  readonly fallbacksByRule: Record<string, number> = Object.create(null);
  fallbacksWhileAnswering = 0;
  declare readonly knownKeys: number;
  declare readonly breaker: "closed" | "open";
  declare readonly openNodes: readonly string[];
  declare readonly sinceMs: number;

  constructor(breakers: Breakers, standIn: StandIn) {
    // Of the object's own, so that they are printed with the others.
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
