import type { ClientReport, ReplayReport, RuleReport, RuleSetReport } from "../replay/replay-report.ts";
import type { SeriesReport } from "../replay/time-series.ts";
import type { MinuteCounts } from "../replay/worst-minute.ts";

/** A report as JSON: snake_case, ISO 8601 times, durations in seconds. */
export function reportJson(report: ReplayReport): Readonly<Record<string, unknown>> {
  const { from, to, keys, late, against, changes, clients } = report;
  return {
    from: from === undefined ? null : isoText(from),
    to: to === undefined ? null : isoText(to),
    keys,
    late,
    ...ruleSetJson(report, keys),
    ...(against && { against: ruleSetJson(against, keys) }),
    ...(changes && {
      changes: {
        newly_denied: changes.newlyDenied,
        newly_denied_keys: changes.newlyDeniedKeys,
        newly_admitted: changes.newlyAdmitted,
        newly_admitted_keys: changes.newlyAdmittedKeys,
      },
    }),
    ...(clients && { clients: clients.map(clientJson) }),
  };
}

function clientJson(client: ClientReport): Readonly<Record<string, unknown>> {
  const { source, requests, attempts, admittedAtOnce, admittedLater, gaveUp, unfinished } = client;
  return {
    source,
    requests,
    attempts,
    admitted_at_once: admittedAtOnce,
    admitted_later: admittedLater,
    gave_up: gaveUp,
    unfinished,
    average_wait: client.averageWait / 1_000_000,
    longest_wait: client.longestWait / 1_000_000,
  };
}

function seriesJson({ start, width, admitted, denied }: SeriesReport): Readonly<Record<string, unknown>> {
  return { start: admitted.length === 0 ? null : isoText(start), width: width / 1_000_000, admitted, denied };
}

function ruleSetJson(set: RuleSetReport, keys: number): Readonly<Record<string, unknown>> {
  const { requests, admitted, denied, unlimited, deniedKeys, worstMinute, series, hours, rules } = set;
  return {
    requests,
    admitted,
    denied,
    denied_share: requests === 0 ? 0 : denied / requests,
    unlimited,
    denied_keys: deniedKeys,
    denied_keys_share: keys === 0 ? 0 : deniedKeys / keys,
    worst_minute: minuteJson(worstMinute),
    series: seriesJson(series),
    hours: seriesJson(hours),
    rules: rules.map(ruleJson),
  };
}

function ruleJson(rule: RuleReport): Readonly<Record<string, unknown>> {
  const { requests, admitted, denied, keys, deniedKeys, worstMinute, hitFirst, topDenied, peakUsage } = rule;
  return {
    rule: rule.rule,
    mode: rule.mode,
    requests,
    admitted,
    denied,
    keys,
    denied_keys: deniedKeys,
    worst_minute: minuteJson(worstMinute),
    hit_first: hitFirst.map(({ key, time }) => ({ key, time: isoText(time) })),
    top_denied: topDenied.map(({ key, requests, admitted, denied, firstDeniedAt, shutOut }) => ({
      key,
      requests,
      admitted,
      denied,
      first_denied_at: isoText(firstDeniedAt),
      shut_out: shutOut / 1_000_000,
    })),
    peak_usage: peakUsage,
  };
}

function minuteJson(minute: MinuteCounts | undefined): Readonly<Record<string, unknown>> | null {
  return minute === undefined ? null : { ...minute, time: isoText(minute.time) };
}

function isoText(time: number): string {
  return new Date(time / 1000).toISOString();
}
