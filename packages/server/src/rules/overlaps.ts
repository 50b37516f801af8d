import { algorithms } from "headgate";
import type { Work } from "./cooperative-work.ts";
import type { Applied, Family } from "./family.ts";
import type { Dimension } from "./rule.ts";
import type { PatternTrie } from "./trie.ts";

/** A likely mistake. Never an error: the rules are enforced as they are. */
export interface Warning {
  /** The rule it is about, then the one it conflicts with. */
  readonly rule_ids: readonly [string, string];
  readonly message: string;
}

/** Based on the rules alone: a custom limit or an override may change it for a user. */
export function* overlaps(
  families: readonly Family[],
  tries: Readonly<Record<Dimension, PatternTrie<Family>>>,
): Work<readonly Warning[]> {
  const warnings: Warning[] = [];
  const before = new Set<Family>();
  for (const family of families) {
    const { parts, open } = family.pattern;
    const broader = tries[family.dimension].match(parts, open).filter((other) => other !== family);
    const twin = broader.find((other) => before.has(other) && isTwin(family, other));
    if (twin !== undefined) warnings.push(ofTwins(family, twin));
    for (const member of family.members) {
      // Of two rules that match the same paths and are equally strict, only the later is reported.
      const stricter = broader.find(
        (other) =>
          isIdle(member, family, other) &&
          (before.has(other) || !matchTheSame(family, other) || !isEven(member, other)),
      );
      if (stricter !== undefined && stricter !== twin) warnings.push(ofIdle(member, stricter));
    }
    before.add(family);
    yield;
  }
  return warnings;
}

function matchTheSame({ pattern: a }: Family, { pattern: b }: Family): boolean {
  return a.open === b.open && a.parts.length === b.parts.length && a.parts.every((part, i) => part === b.parts[i]);
}

/** Two families that would be one if their patterns were written alike. */
function isTwin(a: Family, b: Family): boolean {
  return a.window === b.window && matchTheSame(a, b);
}

/** Whether the other family denies every user of the member whenever the member would. */
function isIdle(member: Applied, family: Family, other: Family): boolean {
  const { tier } = member.definition;
  // Without a tier it is for all whose tier has no member: those of no tier, and those that only the other knows.
  const tiers = tier === null ? [null, ...other.tiers].filter((each) => family.memberFor(each) === member) : [tier];
  return tiers.every((each) => {
    const against = other.memberFor(each);
    return against !== undefined && against.definition.mode === "enforce" && isAsStrict(against, member);
  });
}

function isEven(member: Applied, other: Family): boolean {
  const against = other.memberFor(member.definition.tier);
  return against !== undefined && isAsStrict(member, against);
}

/** Whether `a` admits nothing that `b` denies, if `a` counts everything that `b` counts. */
function isAsStrict({ limit: a }: Applied, { limit: b }: Applied): boolean {
  if (a.algorithm !== b.algorithm) return false;
  if (algorithms[a.algorithm].traits.burst) return a.burst <= b.burst && a.limit * b.window <= b.limit * a.window;
  return a.window === b.window && a.limit <= b.limit;
}

function ofTwins(family: Family, twin: Family): Warning {
  const [member] = family.members;
  const [other] = twin.members;
  return {
    rule_ids: [member.definition.rule_id, other.definition.rule_id],
    message: `${shown(member)} matches the same paths as ${shown(other)}: both are enforced; write both patterns alike if one is to replace the other by tier`,
  };
}

function ofIdle(member: Applied, stricter: Family): Warning {
  const other = stricter.memberFor(member.definition.tier) ?? member;
  return {
    rule_ids: [member.definition.rule_id, other.definition.rule_id],
    message: `${shown(member)} can never decide: ${shown(other)} counts the same requests and is at least as strict`,
  };
}

function shown({ definition: { rule_id, endpoint_pattern, limit, window_seconds } }: Applied): string {
  return `${rule_id} (${endpoint_pattern}, ${limit} in ${window_seconds} s)`;
}
