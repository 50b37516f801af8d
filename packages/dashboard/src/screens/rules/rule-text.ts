import type { RateLimitRule } from "../../api/types.ts";
import { countText, durationText, limitText } from "../../ui/format.ts";

/** Such as `100 / min`, or `1,000 / month`. */
export function ruleLimitText(
  { limit: own, window_seconds, calendar }: Pick<RateLimitRule, "limit" | "window_seconds" | "calendar">,
  limit = own,
): string {
  return window_seconds === null ? `${countText(limit)} / ${calendar}` : limitText(limit, window_seconds);
}

export function windowText({ window_seconds, calendar, time_zone }: RateLimitRule): string {
  if (window_seconds !== null) return durationText(window_seconds);
  return `each ${calendar} in ${time_zone ?? "UTC"}`;
}

/** Such as `token bucket, burst 20`. */
export function algorithmText({ algorithm, burst }: Pick<RateLimitRule, "algorithm" | "burst">): string {
  const name = algorithm.replaceAll("_", " ");
  return burst === null ? name : `${name}, burst ${countText(burst)}`;
}
