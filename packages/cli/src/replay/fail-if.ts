import type { ReplayReport } from "headgate-simulator";
import { type ExitCode, exitCodes, InvalidInput, reported } from "../failure.ts";

/** The figures that a condition can name. */
interface Figures {
  readonly [name: string]: number;
}

/** A condition on the figures of a report, such as `denied_share > 0.001`. */
interface Condition {
  readonly text: string;
  readonly figure: string;
  holds(figures: Figures): boolean;
}

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  ">": (a, b) => a > b,
  ">=": (a, b) => a >= b,
  "<": (a, b) => a < b,
  "<=": (a, b) => a <= b,
  "==": (a, b) => a === b,
  "!=": (a, b) => a !== b,
};

const FORM = /^\s*([a-z_]+)\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)?(?:e-?\d+)?)\s*(%?)\s*$/;

/** Reads conditions. Figures that there are not are reported before a long replay, not after it. */
export function readConditions(texts: readonly string[] | undefined, names: readonly string[]): readonly Condition[] {
  return (texts ?? []).map((text) => {
    const condition = readCondition(text);
    if (names.includes(condition.figure)) return condition;
    throw new InvalidInput(`--fail-if: there is no figure ${condition.figure} (${names.join(", ")})`);
  });
}

/** Reports each condition that holds. */
export function exitCodeOf(conditions: readonly Condition[], figures: Figures): ExitCode {
  const holding = conditions.filter((condition) => condition.holds(figures));
  for (const { text, figure } of holding) {
    process.stderr.write(reported(new Error(`--fail-if: ${text}: ${figure} is ${figures[figure]}`)).line);
  }
  return holding.length > 0 ? exitCodes.denied : exitCodes.done;
}

function readCondition(text: string): Condition {
  const [, figure, comparison, number, percent] = FORM.exec(text) ?? [];
  if (figure === undefined) {
    throw new InvalidInput(
      `--fail-if: must be like 'denied_share > 0.001' or 'denied_keys >= 1', got ${JSON.stringify(text)}`,
    );
  }
  const bound = Number(number) / (percent === "%" ? 100 : 1);
  return { text: text.trim(), figure, holds: (figures) => COMPARISONS[comparison](figures[figure], bound) };
}

const RULE_FIGURES = [
  "requests",
  "admitted",
  "denied",
  "denied_share",
  "keys",
  "denied_keys",
  "denied_keys_share",
  "late",
];
const LOG_FIGURES = ["bad_lines", "bad_lines_share"];
const CHANGES = ["newly_denied", "newly_denied_share", "newly_denied_keys", "newly_admitted", "newly_admitted_keys"];

export function figureNames(hasLogs: boolean, compares: boolean): readonly string[] {
  return [...RULE_FIGURES, ...(hasLogs ? LOG_FIGURES : []), ...(compares ? CHANGES : [])];
}

/** The figures of a report. In a comparison they are those of the other rules, the ones to be tested. */
export function figuresOf(report: ReplayReport, lines = { read: 0, bad: 0 }): Figures {
  const { keys, late, changes } = report;
  const { requests, admitted, denied, deniedKeys } = report.against ?? report;
  return {
    requests,
    admitted,
    denied,
    denied_share: share(denied, requests),
    keys,
    denied_keys: deniedKeys,
    denied_keys_share: share(deniedKeys, keys),
    late,
    bad_lines: lines.bad,
    bad_lines_share: share(lines.bad, lines.read),
    newly_denied: changes?.newlyDenied ?? 0,
    newly_denied_share: share(changes?.newlyDenied ?? 0, requests),
    newly_denied_keys: changes?.newlyDeniedKeys ?? 0,
    newly_admitted: changes?.newlyAdmitted ?? 0,
    newly_admitted_keys: changes?.newlyAdmittedKeys ?? 0,
  };
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
