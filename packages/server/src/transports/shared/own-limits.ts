import {
  type Clock,
  type Decision,
  type Limit,
  type Limiter,
  type MemoryLimiter,
  rateLimiter,
  type Store,
  tokenBucket,
} from "headgate";
import { type HeaderField, HeaderWriter, type MaybePromise, Policy } from "headgate/http";
import type { Role } from "../../access/api-key.ts";
import { fields } from "../../config/fields.ts";
import type { Settings } from "../../config/settings.ts";

type SelfRule = "config-reads" | "config-writes" | "checks";
type SelfRules = Readonly<Record<SelfRule, Limit>>;

/** How often each API key may read and change the configuration, and how many checks the node answers. */
type SelfRates = Pick<Settings, "configReadsLimit" | "configWritesLimit" | "checksLimit">;

const RULE_OF: Readonly<Record<Role, SelfRule>> = { read: "config-reads", write: "config-writes", check: "checks" };

/** The one key that all checks of a node are charged to. */
const NODE = "node";

export interface SelfLimitsOptions {
  /** Default: the default settings. */
  readonly rates?: SelfRates;
  readonly clock?: Clock;
  /** Shared by all nodes to count reads and changes; must be resilient. Default: this node counts on its own. */
  readonly store?: Store | undefined;
}

/**
 * The limits on requests to the service itself: how often each API key may read and change the configuration, and how
 * many checks the node answers. All transports share one instance.
 */
export class SelfLimits {
  private readonly limiter: MemoryLimiter<SelfRules>;
  private readonly shared: Limiter<SelfRules> | undefined;
  private readonly writers: Readonly<Record<SelfRule, HeaderWriter>>;

  constructor({ rates, clock, store }: SelfLimitsOptions = {}) {
    const rules = rulesOf(rates ?? DEFAULT_RATES);
    this.limiter = rateLimiter(rules, clock === undefined ? {} : { clock });
    this.shared = store && rateLimiter(rules, { store });
    const writer = (rule: SelfRule): HeaderWriter => new HeaderWriter(["draft"], [new Policy(rule, rules[rule])]);
    this.writers = {
      "config-reads": writer("config-reads"),
      "config-writes": writer("config-writes"),
      checks: writer("checks"),
    };
  }

  /** Charges a request that requires this role. Checks are decided synchronously. */
  admit(role: Role, keyId: string): MaybePromise<Decision<SelfRule>> {
    const rule = RULE_OF[role];
    if (rule === "checks") return this.limiter.checkSync(rule, NODE);
    // No checked identity has such a key.
    return this.shared?.check(rule, `admin:${keyId}`) ?? this.limiter.checkSync(rule, keyId);
  }

  /** Charges several checks at once. */
  admitChecks(count: number): Decision<SelfRule> {
    // A check without options takes a third of the time.
    if (count === 1) return this.limiter.checkSync("checks", NODE);
    return this.limiter.checkSync("checks", NODE, { cost: count });
  }

  /** Returns checks that were charged and did not take place. */
  returnChecks(count: number): void {
    this.limiter.refundSync("checks", NODE, { cost: count });
  }

  headers(decision: Decision<SelfRule>): HeaderField[] {
    return this.writers[decision.rule].write(decision);
  }
}

const DEFAULT_RATES: SelfRates = {
  configReadsLimit: fields.configReadsLimit.initial,
  configWritesLimit: fields.configWritesLimit.initial,
  checksLimit: fields.checksLimit.initial,
};

function rulesOf({ configReadsLimit, configWritesLimit, checksLimit }: SelfRates): SelfRules {
  return {
    "config-reads": tokenBucket(configReadsLimit),
    "config-writes": tokenBucket(configWritesLimit),
    checks: tokenBucket(checksLimit),
  };
}
