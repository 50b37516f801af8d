import type { RateLimitRule } from "../../api/types.ts";
import { countText, durationText, limitText } from "../../ui/format.ts";

/** Such as `100 / min`, or `1,000 / month`. */
export function ruleLimitText(
  { limit: own, window_seconds, calendar }: Pick<RateLimitRule, "limit" | "window_seconds" | "calendar">,
  limit = own,
): string {
  if (window_seconds !== null) return limitText(limit, window_seconds);
  return calendar === null ? `${countText(limit)} at a time` : `${countText(limit)} / ${calendar}`;
}

export function windowText({ window_seconds, calendar, time_zone }: RateLimitRule): string {
  if (window_seconds !== null) return durationText(window_seconds);
  if (calendar === null) return "none: tasks at the same time";
  return `each ${calendar} in ${time_zone ?? "UTC"}`;
}

/** Such as `token bucket, burst 20`. */
export function algorithmText({ algorithm, burst }: Pick<RateLimitRule, "algorithm" | "burst">): string {
  const name = algorithm.replaceAll("_", " ");
  return burst === null ? name : `${name}, burst ${countText(burst)}`;
}

/** The candidate of a rule, such as `50 / min, token bucket`. */
export function candidateText(rule: RateLimitRule, candidate: NonNullable<RateLimitRule["candidate"]>): string {
  const { limit, burst, algorithm, window_seconds } = candidate;
  const rate = ruleLimitText(window_seconds === null ? rule : { ...rule, window_seconds }, limit);
  return `${rate}, ${algorithmText({ algorithm: algorithm ?? rule.algorithm, burst })}`;
}
