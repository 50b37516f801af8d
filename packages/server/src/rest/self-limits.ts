import {
  type Clock,
  type Decision,
  type Limiter,
  type MemoryLimiter,
  rateLimiter,
  type Store,
  tokenBucket,
} from "headgate";
import { type Eventually, type HeaderField, HeaderWriter, Policy } from "headgate/http";
import type { Role } from "../access/api-key.ts";

const RULES = {
  "config-reads": tokenBucket("1000/m"),
  "config-writes": tokenBucket("100/m"),
  checks: tokenBucket("100000/s"),
} as const;

type SelfRule = keyof typeof RULES;

const RULE_OF: Readonly<Record<Role, SelfRule>> = { read: "config-reads", write: "config-writes", check: "checks" };

/** All checks of a node share one quota. */
const NODE = "node";

export interface SelfLimitsOptions {
  readonly clock?: Clock;
  /** Where all nodes count together what admins do: one that answers also when it fails. Default: this node counts for itself. */
  readonly store?: Store | undefined;
}

/**
 * The limiter's own limits, by its own algorithms: for each key of an admin, how often it may read and change
 * the configuration; for the node, how many checks it answers. All transports share one.
 */
export class SelfLimits {
  private readonly limiter: MemoryLimiter<typeof RULES>;
  private readonly shared: Limiter<typeof RULES> | undefined;
  private readonly writers: Readonly<Record<SelfRule, HeaderWriter>>;

  constructor({ clock, store }: SelfLimitsOptions = {}) {
    this.limiter = rateLimiter(RULES, clock === undefined ? {} : { clock });
    this.shared = store && rateLimiter(RULES, { store });
    const nowMs = (): number => this.limiter.store.clock.now() / 1000;
    const writer = (rule: SelfRule): HeaderWriter =>
      new HeaderWriter(["draft"], [new Policy(rule, RULES[rule])], nowMs);
    this.writers = {
      "config-reads": writer("config-reads"),
      "config-writes": writer("config-writes"),
      checks: writer("checks"),
    };
  }

  /** Whether a holder of a key may use it for what needs this role. Of checks it is known at once. */
  admit(role: Role, keyId: string): Eventually<Decision<SelfRule>> {
    const rule = RULE_OF[role];
    if (rule === "checks") return this.limiter.checkSync(rule, NODE);
    // No identity that is checked has such a key.
    return this.shared?.check(rule, `admin:${keyId}`) ?? this.limiter.checkSync(rule, keyId);
  }

  /** Whether the node has room for so many checks at once. */
  admitChecks(count: number): Decision<SelfRule> {
    return this.limiter.checkSync("checks", NODE, { cost: count });
  }

  headers(decision: Decision<SelfRule>): HeaderField[] {
    return this.writers[decision.rule].write(decision);
  }
}
