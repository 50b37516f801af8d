import type { Source } from "headgate";
import type { LimitResult } from "../checks/check.ts";

export const SOURCES = ["store", "lease", "cache", "fallback"] as const satisfies readonly Source[];

/** The decisions of one rule since the node started. */
export class RuleTally {
  /** By source, in the order of SOURCES. */
  readonly allowed = new Float64Array(SOURCES.length);
  readonly denied = new Float64Array(SOURCES.length);
  /** Requests that would have been denied if the rule had been enforced. */
  shadowDenied = 0;
}

/** Counts decisions in plain numbers: updated by every check, but read rarely. */
export class Tally {
  readonly rules = new Map<string, RuleTally>();

  add(limit: LimitResult): void {
    const tally = this.rules.get(limit.rule_id) ?? this.begin(limit.rule_id);
    if (limit.allowed) tally.allowed[indexOf(limit.source)] += 1;
    else if (limit.mode === "enforce") tally.denied[indexOf(limit.source)] += 1;
    else tally.shadowDenied += 1;
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
