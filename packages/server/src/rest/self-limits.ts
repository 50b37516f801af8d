import { type Clock, type Decision, type MemoryLimiter, rateLimiter, tokenBucket } from "headgate";
import { type HeaderField, HeaderWriter, Policy } from "headgate/http";
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

/**
 * The limiter's own limits, by its own algorithms: for each key of an admin, how often it may read and change
 * the configuration; for the node, how many checks it answers. All transports share one.
 */
export class SelfLimits {
  private readonly limiter: MemoryLimiter<typeof RULES>;
  private readonly writers: Readonly<Record<SelfRule, HeaderWriter>>;

  constructor({ clock }: { readonly clock?: Clock } = {}) {
    this.limiter = rateLimiter(RULES, clock === undefined ? {} : { clock });
    const nowMs = (): number => this.limiter.store.clock.now() / 1000;
    const writer = (rule: SelfRule): HeaderWriter =>
      new HeaderWriter(["draft"], [new Policy(rule, RULES[rule])], nowMs);
    this.writers = {
      "config-reads": writer("config-reads"),
      "config-writes": writer("config-writes"),
      checks: writer("checks"),
    };
  }

  /** Whether a holder of a key may use it for what needs this role. */
  admit(role: Role, keyId: string): Decision<SelfRule> {
    return this.limiter.checkSync(RULE_OF[role], role === "check" ? NODE : keyId);
  }

  /** Whether the node has room for so many checks at once. */
  admitChecks(count: number): Decision<SelfRule> {
    return this.limiter.checkSync("checks", NODE, { cost: count });
  }

  headers(decision: Decision<SelfRule>): HeaderField[] {
    return this.writers[decision.rule].write(decision);
  }
}
