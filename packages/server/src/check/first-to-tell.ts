import type { Operation, Rule, Store } from "headgate";
import { limitOf } from "../rules/family.ts";
import type { LimitRule } from "./limit-rule.ts";

/** Turns that are reset in one step. */
const RESET_BATCH = 100;

/**
 * Of all nodes that see a key throttled, the one that is to tell of it: who is first to ask in a window. The store that
 * they share decides it as it decides all else, by a limit of one each window.
 */
export class FirstToTell {
  private readonly store: Store;
  private readonly turns = new WeakMap<LimitRule, Rule>();

  constructor(store: Store) {
    this.store = store;
  }

  /** While the store fails, everybody is: better twice than never. */
  async isFirst(rule: LimitRule, key: string): Promise<boolean> {
    const [{ allowed, degraded }] = await this.store.apply("take", [this.turn(rule, key)]);
    return allowed || degraded;
  }

  /** Who comes next under these rules is first again. As far as the store can be reached: it ends by itself, too. */
  async forget(rules: readonly LimitRule[], key: string): Promise<void> {
    const turns = rules.map((rule) => this.turn(rule, key));
    // Members of a family have one between them, unless they differ in how they count.
    const operations = [
      ...new Map(turns.map((turn) => [`${turn.rule.name} ${turn.rule.limit.algorithm}`, turn])).values(),
    ];
    for (let i = 0; i < operations.length; i += RESET_BATCH) {
      await this.store.apply("reset", operations.slice(i, i + RESET_BATCH));
    }
  }

  private turn(limited: LimitRule, key: string): Operation {
    let rule = this.turns.get(limited);
    if (rule === undefined) {
      rule = turnOf(limited);
      this.turns.set(limited, rule);
    }
    return { rule, key, cost: 1 };
  }
}

/** Windows that are fixed are the same for both; of the others one begins when somebody has told. */
function turnOf({ definition, family }: LimitRule): Rule {
  const { algorithm, window_seconds } = definition;
  const own = algorithm === "fixed_window" ? algorithm : "token_bucket";
  return { name: `throttled:${family.name}`, limit: limitOf({ algorithm: own, window_seconds }, 1, null) };
}
