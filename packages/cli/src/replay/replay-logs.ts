import { Replay, type ReplayReport } from "headgate-simulator";
import { type ExitCode, InvalidInput } from "../failure.ts";
import { readRules } from "../rules/read-rules.ts";
import { exitCodeOf, figureNames, figuresOf, readConditions } from "./fail-if.ts";
import { numberIn } from "./number-option.ts";
import { countLines, type LogFieldOptions, notesOn, openLogs, readLogs } from "./open-logs.ts";
import { printReport } from "./print-report.ts";
import { rulesForPath, unusedNotes } from "./rules-for-path.ts";

export interface ReplayCommandOptions extends LogFieldOptions {
  readonly rules?: string;
  readonly against?: string;
  readonly lateness?: string;
  readonly top?: string;
  readonly json?: true;
  readonly html?: string;
  readonly failIf?: readonly string[];
  readonly recording?: true;
}

/** `headgate replay`: decides the requests of logs under rules, and reports. */
export async function replayLogs(paths: readonly string[], options: ReplayCommandOptions): Promise<ExitCode> {
  const { rules, against, failIf } = options;
  if (rules === undefined) throw new InvalidInput("--rules: is required");
  const conditions = readConditions(failIf, figureNames(true, against !== undefined));
  const latenessMs = 1000 * numberIn("--lateness", options.lateness ?? "5", 3_600);
  const top = numberIn("--top", options.top ?? "10", 1_000_000);
  const ruleFiles = [await readRules(rules), ...(against === undefined ? [] : [await readRules(against)])];
  const open = await openLogs(paths, options);
  let report: ReplayReport;
  try {
    const [first, second] = await Promise.all(ruleFiles.map((file) => rulesForPath(file.rules, open.dimension)));
    const replay = new Replay(first, { against: second, latenessMs, top });
    await readLogs(open, (request) => replay.add(request));
    report = replay.finish();
  } finally {
    await open.close();
  }
  const lines = countLines(open);
  const notes = [...notesOn(open), ...ruleFiles.flatMap((file) => unusedNotes(file.name, file.rules, open.dimension))];
  const [{ name }, other] = ruleFiles;
  const bad = { count: lines.bad, examples: open.logs.flatMap(({ shownBadLines }) => shownBadLines) };
  await printReport(report, {
    ...options,
    page: { title: "Headgate replay", rules: name, against: other?.name, notes },
    json: options.json && { lines: lines.read, bad_lines: bad, notes },
  });
  return exitCodeOf(conditions, figuresOf(report, lines));
}
