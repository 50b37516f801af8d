import { type Clock, type Decision, type Limit, type MemoryLimiter, rateLimiter, timeFromSeconds } from "headgate";
import type { Config } from "../config/limits-config.ts";

/** Decides each request at its stated time, by the user's own limit or the default. */
export class UserLimiter {
  private readonly clock = new StatedClock();
  private readonly limiter: MemoryLimiter;
  private readonly defaultRule: string;
  private readonly ruleOfUser: ReadonlyMap<string, string>;

  constructor(config: Config) {
    const rules = new SharedRules();
    this.defaultRule = rules.nameOf(config.default);
    this.ruleOfUser = new Map([...config.users].map(([user, limit]) => [user, rules.nameOf(limit)]));
    this.limiter = rateLimiter(Object.fromEntries(rules.limits), {
      clock: this.clock,
      // Times are ordered only within a user: a bucket that is full at one user's time may not be at another's.
      sweep: false,
      maxKeys: Number.MAX_SAFE_INTEGER,
    });
  }

  decide(user: string, seconds: number, cost?: number): Decision {
    this.clock.time = timeFromSeconds(seconds);
    const rule = this.ruleOfUser.get(user) ?? this.defaultRule;
    return this.limiter.checkSync(rule, user, cost === undefined ? undefined : { cost });
  }
}

/** Users with the same limit share a rule and differ by key, because a rule costs more memory than a key. */
class SharedRules {
  readonly limits = new Map<string, Limit>();
  private readonly names = new Map<string, string>();

  nameOf(limit: Limit): string {
    const content = JSON.stringify(limit);
    let name = this.names.get(content);
    if (name === undefined) {
      name = `limit ${this.names.size + 1}`;
      this.names.set(content, name);
      this.limits.set(name, limit);
    }
    return name;
  }
}

class StatedClock implements Clock {
  time = 0;

  now(): number {
    return this.time;
  }

  async sleep(): Promise<void> {
    throw new Error("a stated time does not pass");
  }
}
