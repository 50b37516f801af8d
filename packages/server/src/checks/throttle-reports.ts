import { type Clock, type Operation, type Rule, type Store, tokenBucket } from "headgate";
import type { AppliedLimit } from "../rules/shared-counter.ts";

/** Turns that are reset in one step. */
const RESET_BATCH = 100;
/** How many keys of rules a node remembers to have reported. The oldest are forgotten first, and may be reported again. */
const MOST_REPORTED = 50_000;

export interface FirstToTellOptions {
  /** How long a key of a rule is not reported again, in milliseconds. With 0, every transition is reported. */
  readonly everyMs: number;
  readonly clock: Clock;
  /** The store in which nodes agree on which of them reports first. Default: this node decides on its own. */
  readonly store?: Store | undefined;
}

/**
 * Decides which of the nodes that see a key throttled reports it, and when it may be reported again: the first to ask
 * in an interval. Each node remembers what it has seen reported, and the shared store decides between nodes by a limit
 * of one in each interval.
 */
export class FirstToTell {
  private readonly store: Store | undefined;
  private readonly clock: Clock;
  private readonly everyMs: number;
  private readonly turns = new WeakMap<Rule, Rule>();
  /** By rule and key, until when it is not reported again, in microseconds. In the order in which that ends. */
  private readonly reported = new Map<string, number>();

  constructor({ everyMs, clock, store }: FirstToTellOptions) {
    this.everyMs = everyMs;
    this.clock = clock;
    this.store = everyMs === 0 ? undefined : store;
  }

  /** Whether this node may report a key: undefined if not, otherwise how to ask whether another node was first. */
  claim(rule: AppliedLimit, key: string): (() => Promise<boolean>) | undefined {
    if (!this.claimHere(rule, key)) return undefined;
    const { store } = this;
    return async () => store === undefined || this.isFirst(store, rule, key);
  }

  /** The next time under these rules is the first again. If the store cannot be reached, the interval still ends. */
  async forget(rules: readonly AppliedLimit[], key: string): Promise<void> {
    for (const rule of rules) this.reported.delete(nameOf(rule, key));
    if (this.store === undefined) return;
    const operations = rules.map((rule) => this.turn(rule, key));
    for (let i = 0; i < operations.length; i += RESET_BATCH) {
      await this.store.apply("reset", operations.slice(i, i + RESET_BATCH));
    }
  }

  private claimHere(rule: AppliedLimit, key: string): boolean {
    if (this.everyMs === 0) return true;
    const name = nameOf(rule, key);
    const now = this.clock.now();
    const until = this.reported.get(name);
    if (until !== undefined && now < until) return false;
    // Behind all others: it ends last.
    this.reported.delete(name);
    this.reported.set(name, now + this.everyMs * 1000);
    if (this.reported.size > MOST_REPORTED) {
      const [oldest] = this.reported.keys();
      this.reported.delete(oldest);
    }
    return true;
  }

  /** While the store fails, every node is the first: an entry too many is better than none. */
  private async isFirst(store: Store, rule: AppliedLimit, key: string): Promise<boolean> {
    const [{ allowed, degraded }] = await store.apply("take", [this.turn(rule, key)]);
    return allowed || degraded;
  }

  private turn(limited: AppliedLimit, key: string): Operation {
    let rule = this.turns.get(limited.rule);
    if (rule === undefined) {
      const { rule_id } = limited.config;
      rule = { name: `throttled:${rule_id}`, limit: tokenBucket({ limit: 1, windowMs: this.everyMs }) };
      this.turns.set(limited.rule, rule);
    }
    return { rule, key, cost: 1 };
  }
}

/** Rule ids have no line breaks. */
function nameOf({ config }: AppliedLimit, key: string): string {
  return `${config.rule_id}\n${key}`;
}
