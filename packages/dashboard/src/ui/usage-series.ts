import type { UsageSeries, UsageSummary } from "../api/types.ts";
import { countText, sum } from "./format.ts";

const STEP_SECONDS = { minute: 60, day: 86_400 } as const;

/** Values for every minute or day, also for those in which nothing was decided. */
export interface EvenSeries extends Pick<UsageSeries, "allowed" | "denied"> {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  /** Denied by trial: by rules in shadow mode, or by candidates. */
  readonly byTrial: readonly number[];
}

export function evenly(
  { period, from, to, starts }: Pick<UsageSummary, "period" | "from" | "to" | "starts">,
  series: UsageSeries,
): EvenSeries {
  const step = STEP_SECONDS[period];
  const first = Math.ceil(Date.parse(from) / 1000 / step) * step;
  const last = Date.parse(to) / 1000;
  const places = new Map(starts.map((start, i) => [Date.parse(start) / 1000, i]));
  const times: number[] = [];
  for (let time = first; time <= last; time += step) times.push(time);
  const at = (values: readonly number[]): number[] =>
    times.map((time) => {
      const place = places.get(time);
      return place === undefined ? 0 : values[place];
    });
  return {
    times,
    allowed: at(series.allowed),
    denied: at(series.denied),
    byTrial: at(series.shadow_denied.map((count, i) => count + series.candidate_denied[i])),
  };
}

/** How many requests a rule denied, and how many it would have denied in shadow mode or as its candidate. */
export function deniedText({ allowed, denied, shadow_denied, candidate_denied }: UsageSeries): string {
  // A request that is over the limit of a rule in shadow mode counts as neither allowed nor denied.
  const requests = sum(allowed) + sum(denied) + sum(shadow_denied);
  const byTrial = sum(shadow_denied) + sum(candidate_denied);
  const trial = byTrial > 0 ? `, ${countText(byTrial)} by trial` : "";
  return `${countText(sum(denied))} of ${countText(requests)} denied${trial}`;
}
