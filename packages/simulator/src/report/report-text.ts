import type { ReplayReport, RuleReport, RuleSetReport } from "../replay/replay-report.ts";
import type { MinuteCounts } from "../replay/worst-minute.ts";
import { clientsTable } from "./clients-table.ts";
import { countText, durationText, shareText, timeText } from "./figures.ts";

export interface ReportNames {
  /** What the rules are called, such as the name of their file. */
  readonly rules: string;
  /** The same for the other rules. */
  readonly against?: string | undefined;
}

const BAR_WIDTH = 30;

/** A report as a text for terminals. */
export function reportText(report: ReplayReport, names: ReportNames): string {
  const { from, to, keys, late, against, changes, requests, clients } = report;
  if (from === undefined || to === undefined) return "No requests.\n";
  const lines = [
    `${requestsOf(requests, keys)} in ${durationText(to - from)}, ` + `${timeText(from)} to ${timeText(to)} UTC`,
  ];
  if (late > 0) lines.push(`${countText(late)} requests were too late to be put in order of time`);
  lines.push("", ...setLines(report, keys, names.rules));
  if (clients !== undefined) lines.push("", "clients:", ...table(...clientsTable(clients)));
  if (against !== undefined && changes !== undefined) {
    lines.push("", ...setLines(against, keys, names.against ?? "the other rules"));
    lines.push(
      "",
      `Changes from ${printable(names.rules)} to ${printable(names.against ?? "the other rules")}:`,
      `  newly denied    ${requestsOf(changes.newlyDenied, changes.newlyDeniedKeys)}`,
      `  newly admitted  ${requestsOf(changes.newlyAdmitted, changes.newlyAdmittedKeys)}`,
    );
  }
  return `${lines.join("\n")}\n`;
}

function setLines(set: RuleSetReport, keys: number, name: string): string[] {
  const { rules, requests, admitted, denied, deniedKeys, unlimited, worstMinute } = set;
  const total = {
    rule: "all requests",
    mode: "enforce" as const,
    requests,
    admitted,
    denied,
    keys,
    deniedKeys,
    worstMinute,
  };
  return [
    `${printable(name)}:`,
    ...table(
      ["", "requests", "admitted", "denied", "share", "keys", "denied keys", "share"],
      [...rules, total].map((row) => [
        ruleText(row),
        countText(row.requests),
        countText(row.admitted),
        countText(row.denied),
        shareText(row.denied, row.requests),
        countText(row.keys),
        countText(row.deniedKeys),
        shareText(row.deniedKeys, row.keys),
      ]),
    ),
    ...(unlimited > 0 ? [`No enforced rule applies to ${countText(unlimited)} of the requests.`] : []),
    ...rules.flatMap(ruleLines),
  ];
}

function ruleLines(rule: RuleReport): string[] {
  const { deniedKeys, keys, worstMinute, hitFirst, topDenied, peakUsage } = rule;
  const classes = [...peakUsage, deniedKeys];
  const lines = [
    "",
    `${ruleText(rule)}: peak usage of the limit, by number of keys`,
    ...classes.map((count, i) => {
      const label = i < peakUsage.length ? `${i * 10}–${i * 10 + 10} %` : "denied";
      const bar = "█".repeat(Math.ceil((BAR_WIDTH * count) / Math.max(...classes, 1)));
      return `  ${label.padStart(9)}  ${bar}${bar === "" ? "" : " "}${countText(count)} (${shareText(count, keys)})`;
    }),
  ];
  if (hitFirst.length === 0) return lines;
  const [first] = hitFirst;
  lines.push(
    `  hit first: ${printable(first.key)} at ${timeText(first.time)}`,
    `  worst minute: ${minuteText(worstMinute)}`,
    ...table(
      ["most denied", "requests", "admitted", "denied", "first denied", "shut out"],
      topDenied.map((key) => [
        printable(key.key),
        countText(key.requests),
        countText(key.admitted),
        countText(key.denied),
        timeText(key.firstDeniedAt),
        durationText(key.shutOut),
      ]),
    ),
  );
  return lines;
}

/** The name of a rule, and how it was applied unless it was enforced. */
function ruleText({ rule, mode }: Pick<RuleReport, "rule" | "mode">): string {
  return `${printable(rule)}${mode === "enforce" ? "" : ` (${mode})`}`;
}

function requestsOf(requests: number, keys: number): string {
  return `${countText(requests)} ${requests === 1 ? "request" : "requests"} of ${countText(keys)} ${keys === 1 ? "key" : "keys"}`;
}

function minuteText(minute: MinuteCounts | undefined): string {
  if (minute === undefined) return "none";
  const { time, requests, denied } = minute;
  return `${timeText(time)}, ${countText(denied)} of ${countText(requests)} requests denied`;
}

/** The first column is aligned to the left, all others to the right. */
function table(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => row[column].length)));
  return all.map((row) => {
    const cells = row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]) : cell.padStart(widths[column])));
    return `  ${cells.join("  ")}`.trimEnd();
  });
}

/** Keys come from logs and may contain control characters, which a terminal would act on. */
function printable(text: string): string {
  const safe = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  });
  return safe.length > 60 ? `${safe.slice(0, 59)}…` : safe;
}
