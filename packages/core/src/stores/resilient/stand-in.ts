import type { Limit } from "../../limit/limit.ts";
import type { Clock } from "../../time/clock.ts";
import { MemoryStore } from "../memory/memory-store.ts";
import type { Action, Answer, Operation } from "../store.ts";
import type { Policy } from "./policy.ts";
import { queueRoom, shareOf } from "./share.ts";

/** Answers in the place of a store that fails. */
export class StandIn {
  private readonly nodes: number;
  private readonly clock: Clock;
  /** By the limit itself: a rule that changes has another. */
  private readonly shares = new WeakMap<Limit, Limit>();
  private memory: MemoryStore | undefined;

  constructor(nodes: number, clock: Clock) {
    this.nodes = nodes;
    this.clock = clock;
  }

  /** `patience`: in how many microseconds the store may be asked again. */
  answer(policy: Policy, action: Action, operations: readonly Operation[], patience: number): readonly Answer[] {
    if (policy === "local") return this.local(action, operations, patience);
    return operations.map((operation) => {
      const never = canFit(action, operation) ? undefined : Number.POSITIVE_INFINITY;
      // Where all pass, nothing is counted, and so nothing is known to be used.
      return policy === "allow"
        ? told(never === undefined, operation.rule.limit.burst, never ?? 0, 0)
        : told(false, 0, never ?? patience, patience);
    });
  }

  /** Resets what was counted here: also while the store is well, for it may fail again within the window. */
  forget(operations: readonly Operation[]): void {
    this.memory?.apply("reset", operations.map(this.shared));
  }

  private local(action: Action, operations: readonly Operation[], patience: number): readonly Answer[] {
    this.memory ??= new MemoryStore({ clock: this.clock });
    const answers = this.memory.apply(action, operations.map(this.shared));
    return operations.map((operation, i) => {
      const { limit } = operation.rule;
      const { remaining, retryAfter } = answers[i];
      return {
        ...answers[i],
        ...FALLBACK,
        remaining: limit.algorithm === "leaky_bucket" ? queueRoom(limit, this.share(limit), remaining) : remaining,
        // More than the share, but not than the limit, passes when the store is back.
        retryAfter: retryAfter === Number.POSITIVE_INFINITY && canFit(action, operation) ? patience : retryAfter,
      };
    });
  }

  private readonly shared = ({ rule, key, cost }: Operation): Operation => {
    return { rule: { name: rule.name, limit: this.share(rule.limit) }, key, cost };
  };

  private share(limit: Limit): Limit {
    const known = this.shares.get(limit);
    if (known !== undefined) return known;
    const share = shareOf(limit, this.nodes);
    this.shares.set(limit, share);
    return share;
  }
}

const FALLBACK = { source: "fallback", degraded: true } as const;

function told(allowed: boolean, remaining: number, retryAfter: number, resetAfter: number): Answer {
  return { ...FALLBACK, allowed, remaining, retryAfter, resetAfter };
}

/** Whether the limit could ever let it pass. Corrections are answered as a peek of cost 1 is. */
function canFit(action: Action, { rule, cost }: Operation): boolean {
  return (action === "take" || action === "peek" ? cost : 1) <= rule.limit.burst;
}
