import type { Explanation, LimitAnswer } from "../../api/types.ts";

/** How far back the plots go. */
export const HISTORY_MS = 5 * 60_000;

/** How much of a limit is in use. */
type Level = Pick<LimitAnswer, "rule_id" | "candidate" | "current_count">;

/** The levels of all limits, and when they were reported. */
export interface Seen {
  readonly at: number;
  readonly levels: readonly Level[];
}

/** How much of one limit was in use before. */
export interface EarlierLevel {
  readonly at: number;
  readonly used: number;
}

/** Adds levels, and drops those that are too old to be shown. */
export function withSeen(before: readonly Seen[], latest: Seen): readonly Seen[] {
  return [...before.filter(({ at }) => at > latest.at - HISTORY_MS), latest];
}

/** Puts earlier levels, by the limit's name, before those that were seen. All have the same times. */
export function withEarlier(
  earlier: readonly { readonly limit: Level; readonly levels: readonly EarlierLevel[] }[],
  seen: readonly Seen[],
): readonly Seen[] {
  const moments = new Map<number, Level[]>();
  for (const { limit, levels } of earlier) {
    for (const { at, used } of levels) {
      const others = moments.get(at) ?? [];
      others.push({ ...limit, current_count: used });
      moments.set(at, others);
    }
  }
  const before = [...moments].map(([at, levels]) => ({ at, levels })).sort((a, b) => a.at - b.at);
  const [first, last] = [seen[0], seen.at(-1)];
  if (first === undefined || last === undefined) return before;
  return [...before.filter(({ at }) => at > last.at - HISTORY_MS && at < first.at), ...seen];
}

/** How much of a limit was in use. Times are seconds before the latest levels, which are at 0. */
export function levelsOf(
  seen: readonly Seen[],
  limit: Level,
): { readonly times: readonly number[]; readonly used: readonly (number | null)[] } {
  const now = seen.at(-1)?.at ?? 0;
  return {
    times: seen.map(({ at }) => (at - now) / 1000),
    // The limit may not have applied before.
    used: seen.map(({ levels }) => levels.find((each) => limitName(each) === limitName(limit))?.current_count ?? null),
  };
}

/** All limits of an explanation, those on trial last. */
export function allLimits({ answer: { limits = [], shadow_limits = [] } }: Explanation): readonly LimitAnswer[] {
  return [...limits, ...shadow_limits];
}

/** A rule and its candidate are counted apart. */
export function limitName({ rule_id, candidate }: Level): string {
  return candidate ? `${rule_id} candidate` : rule_id;
}
