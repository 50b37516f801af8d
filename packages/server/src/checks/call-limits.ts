import { type Answer, type Limit, MemoryStore, type Rule, StoreError, tokenBucket } from "headgate";
import { after, type MaybePromise } from "headgate/http";
import type { Consistency } from "../rules/rule.ts";
import type { Stores } from "./counter-stores.ts";

export interface CallLimitsOptions {
  readonly stores: Pick<Stores, Consistency>;
  readonly consistency: Consistency;
  readonly onError: NonNullable<Rule["onError"]>;
}

/** Not used to decide: each operation has a limit of its own. */
const NONE = tokenBucket("1/s");

/**
 * Counters for limits that are sent with the call instead of coming from a rule. They are in the same stores as the
 * counters of rules, separate for each namespace.
 */
export class CallLimits {
  readonly #options: CallLimitsOptions;
  readonly #rules = new Map<string, Rule>();
  /** The store, if it is the memory of this process and no wrapper is around it. */
  readonly memory: MemoryStore | undefined;

  constructor(options: CallLimitsOptions) {
    this.#options = options;
    const store = options.stores[options.consistency];
    this.memory = store instanceof MemoryStore ? store : undefined;
  }

  /** What the counters of a namespace are counted under. The name is not the id of any rule. */
  ruleOf(namespace: string): Rule {
    let rule = this.#rules.get(namespace);
    if (rule === undefined) {
      const name = `namespace:${namespace}`;
      rule = Object.freeze({ name, counter: name, limit: NONE, onError: this.#options.onError });
      this.#rules.set(namespace, rule);
    }
    return rule;
  }

  /** Takes units, or only looks if the cost is 0. */
  take(rule: Rule, key: string, limit: Limit, cost: number): MaybePromise<Answer> {
    const operations = [{ rule, key, cost, limit }];
    const { stores, consistency } = this.#options;
    const answers = stores[consistency].apply(cost === 0 ? "peek" : "take", operations);
    return "then" in answers ? answers.then(([answer]) => answer) : answers[0];
  }

  /** Forgets what a key has used. */
  reset(rule: Rule, key: string): MaybePromise<void> {
    const store = this.#options.stores[this.#options.consistency];
    return after(store.apply("reset", [{ rule, key, cost: 0 }]), ([{ degraded }]) => {
      if (degraded) throw new StoreError("HG_STORE_UNREACHABLE", "does not answer; the key was not reset: retry");
    });
  }
}
