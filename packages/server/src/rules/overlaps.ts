import { algorithms } from "headgate";
import type { Work } from "./cooperative-work.ts";
import { coverMethods } from "./methods.ts";
import type { Dimension } from "./rule.ts";
import { windowText } from "./rule-window.ts";
import type { AppliedLimit, SharedCounter } from "./shared-counter.ts";
import type { PatternTrie } from "./trie.ts";

/** A likely mistake. Never an error: the rules are enforced as they are. */
export interface Warning {
  /** The rule it is about, then the one it conflicts with. */
  readonly rule_ids: readonly [string, string];
  readonly message: string;
}

/** Based on the rules alone: a custom limit or an override may change it for a user. */
export function* overlaps(
  counters: readonly SharedCounter[],
  tries: Readonly<Record<Dimension, PatternTrie<SharedCounter>>>,
): Work<readonly Warning[]> {
  const warnings: Warning[] = [];
  const before = new Set<SharedCounter>();
  for (const counter of counters) {
    const { parts, open } = counter.pattern;
    const broader = tries[counter.dimension].match(parts, open).filter((other) => {
      return other !== counter && coverMethods(other.methods, counter.methods);
    });
    const twin = broader.find((other) => before.has(other) && isTwin(counter, other));
    if (twin !== undefined) warnings.push(ofTwins(counter, twin));
    for (const applied of counter.limits) {
      // Of two rules that match the same paths and are equally strict, only the later is reported.
      const stricter = broader.find(
        (other) =>
          isIdle(applied, counter, other) &&
          (before.has(other) || !matchTheSame(counter, other) || !isEven(applied, other)),
      );
      if (stricter !== undefined && stricter !== twin) warnings.push(ofIdle(applied, stricter));
    }
    before.add(counter);
    yield;
  }
  return warnings;
}

function matchTheSame(one: SharedCounter, other: SharedCounter): boolean {
  const { pattern: a } = one;
  const { pattern: b } = other;
  const isSamePath =
    a.open === b.open && a.parts.length === b.parts.length && a.parts.every((part, i) => part === b.parts[i]);
  return isSamePath && coverMethods(one.methods, other.methods) && coverMethods(other.methods, one.methods);
}

/** Two counters that would be one, if their patterns were written alike. */
function isTwin(a: SharedCounter, b: SharedCounter): boolean {
  return a.window === b.window && matchTheSame(a, b);
}

/** Whether the other counter denies all users of a limit whenever the limit itself would deny them. */
function isIdle(applied: AppliedLimit, counter: SharedCounter, other: SharedCounter): boolean {
  const { tier } = applied.config;
  // A rule without a tier is for all tiers that have no rule here: no tier, and tiers that only the other counter has.
  const tiers = tier === null ? [null, ...other.tiers].filter((each) => counter.limitFor(each) === applied) : [tier];
  return tiers.every((each) => {
    const against = other.limitFor(each);
    return against !== undefined && against.config.mode === "enforce" && isAsStrict(against, applied);
  });
}

function isEven(applied: AppliedLimit, other: SharedCounter): boolean {
  const against = other.limitFor(applied.config.tier);
  return against !== undefined && isAsStrict(applied, against);
}

/** Whether `a` admits nothing that `b` denies, if `a` counts everything that `b` counts. */
function isAsStrict({ limit: a }: AppliedLimit, { limit: b }: AppliedLimit): boolean {
  if (a.algorithm !== b.algorithm) return false;
  if (algorithms[a.algorithm].traits.burst) return a.burst <= b.burst && a.limit * b.window <= b.limit * a.window;
  return a.window === b.window && a.calendar === b.calendar && a.limit <= b.limit;
}

function ofTwins(counter: SharedCounter, twin: SharedCounter): Warning {
  const [applied] = counter.limits;
  const [other] = twin.limits;
  return {
    rule_ids: [applied.config.rule_id, other.config.rule_id],
    message: `${shown(applied)} matches the same paths as ${shown(other)}: both are enforced; write both patterns alike if one is to replace the other by tier`,
  };
}

function ofIdle(applied: AppliedLimit, stricter: SharedCounter): Warning {
  const other = stricter.limitFor(applied.config.tier) ?? applied;
  return {
    rule_ids: [applied.config.rule_id, other.config.rule_id],
    message: `${shown(applied)} can never decide: ${shown(other)} counts the same requests and is at least as strict`,
  };
}

function shown({ config }: AppliedLimit): string {
  const { rule_id, methods, endpoint_pattern, limit } = config;
  const where = methods === null ? endpoint_pattern : `${methods} ${endpoint_pattern}`;
  return `${rule_id} (${where}, ${limit} in ${windowText(config)})`;
}
