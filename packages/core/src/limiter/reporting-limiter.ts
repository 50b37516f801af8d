import type { Clock } from "../clock/clock.ts";
import type { MemoryStore } from "../stores/memory/memory-store.ts";
import type { Store } from "../stores/store.ts";
import type { CheckAllOptions, CheckOptions } from "./check-options.ts";
import type { Decision } from "./decision.ts";
import { Limiter } from "./limiter.ts";
import { MemoryLimiter } from "./memory-limiter.ts";
import type { OnDecision } from "./on-decision.ts";
import type { Batch, Check } from "./requests.ts";
import type { RuleName, Rules } from "./rules.ts";
import type { Verdict } from "./verdict.ts";

// Separate classes, so that limiters without `onDecision` pay nothing for it.

/** A limiter that reports its decisions. */
export class ReportingLimiter<R extends Rules = Rules> extends Limiter<R> {
  override readonly onDecision: OnDecision;

  constructor(rules: R, store: Store, clock: Clock, onDecision: OnDecision) {
    super(rules, store, clock);
    this.onDecision = onDecision;
  }

  override async check<Name extends RuleName<R>>(
    rule: Name,
    key: string,
    options?: CheckOptions,
  ): Promise<Decision<Name>> {
    return reported(await super.check(rule, key, options), key, this.onDecision);
  }

  override async checkAll<Name extends RuleName<R>>(
    checks: readonly Check<Name>[],
    options?: CheckAllOptions,
  ): Promise<Verdict<Name>> {
    return reportedTogether(await super.checkAll(checks, options), checks, this.onDecision);
  }

  override async checkMany<Name extends RuleName<R>>(...batch: Batch<Name>): Promise<Decision<Name>[]> {
    return reportedApart(await super.checkMany(...batch), batch, this.onDecision);
  }
}

/** The same for memory. Its `check` and `checkMany` use the synchronous methods. */
export class ReportingMemoryLimiter<R extends Rules = Rules> extends MemoryLimiter<R> {
  override readonly onDecision: OnDecision;

  constructor(rules: R, store: MemoryStore, onDecision: OnDecision) {
    super(rules, store);
    this.onDecision = onDecision;
  }

  override checkSync<Name extends RuleName<R>>(rule: Name, key: string, options?: CheckOptions): Decision<Name> {
    return reported(super.checkSync(rule, key, options), key, this.onDecision);
  }

  override checkAllSync<Name extends RuleName<R>>(
    checks: readonly Check<Name>[],
    options?: CheckAllOptions,
  ): Verdict<Name> {
    return reportedTogether(super.checkAllSync(checks, options), checks, this.onDecision);
  }

  override checkManySync<Name extends RuleName<R>>(...batch: Batch<Name>): Decision<Name>[] {
    return reportedApart(super.checkManySync(...batch), batch, this.onDecision);
  }

  override async checkAll<Name extends RuleName<R>>(
    checks: readonly Check<Name>[],
    options?: CheckAllOptions,
  ): Promise<Verdict<Name>> {
    return this.checkAllSync(checks, options);
  }
}

function reported<D extends Decision>(decision: D, key: string, onDecision: OnDecision): D {
  onDecision(decision, { key, admitted: decision.allowed });
  return decision;
}

function reportedTogether<V extends Verdict>(verdict: V, checks: readonly Check[], onDecision: OnDecision): V {
  const { decisions, allowed: admitted } = verdict;
  for (const [i, decision] of decisions.entries()) onDecision(decision, { key: checks[i].key, admitted });
  return verdict;
}

function reportedApart<Name extends string>(
  decisions: Decision<Name>[],
  [first, second]: Batch<Name>,
  onDecision: OnDecision,
): Decision<Name>[] {
  const keys = Array.isArray(second) ? second : [];
  for (const [i, decision] of decisions.entries()) {
    reported(decision, typeof first === "string" ? keys[i] : first[i].key, onDecision);
  }
  return decisions;
}
