import type { Decision, Source } from "headgate";

export const SOURCES = ["store", "lease", "cache", "fallback"] as const satisfies readonly Source[];

/** The decisions of one rule since the node started. */
export class RuleTally {
  /** By source, in the order of SOURCES. */
  readonly allowed = new Float64Array(SOURCES.length);
  readonly denied = new Float64Array(SOURCES.length);
  /** Requests that would have been denied if the rule had been enforced. */
  shadowDenied = 0;
  /** Requests that the candidate of the rule would have denied. */
  candidateDenied = 0;
}

/** Counts decisions in plain numbers: updated by every check, but read rarely. */
export class Tally {
  readonly rules = new Map<string, RuleTally>();

  add({ rule, allowed, source }: Decision): void {
    this.count(rule, allowed, source, 1);
  }

  /** Several decisions that are alike. */
  count(rule: string, allowed: boolean, source: Source, count: number): void {
    const tally = this.rules.get(rule) ?? this.begin(rule);
    if (allowed) tally.allowed[indexOf(source)] += count;
    else tally.denied[indexOf(source)] += count;
  }

  addShadow(decision: Decision): void {
    if (decision.allowed) this.add(decision);
    else (this.rules.get(decision.rule) ?? this.begin(decision.rule)).shadowDenied += 1;
  }

  /** What a candidate allows is counted under the limit in force. */
  addCandidate({ rule, allowed }: Decision): void {
    if (!allowed) (this.rules.get(rule) ?? this.begin(rule)).candidateDenied += 1;
  }

  private begin(ruleId: string): RuleTally {
    const tally = new RuleTally();
    this.rules.set(ruleId, tally);
    return tally;
  }
}

function indexOf(source: Source): number {
  if (source === "store") return 0;
  if (source === "lease") return 1;
  return source === "cache" ? 2 : 3;
}
