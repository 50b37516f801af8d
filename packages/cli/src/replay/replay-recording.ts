import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { type RecordingReport, replayRecordings } from "headgate-server";
import { countText, timeText } from "headgate-simulator";
import { type ExitCode, exitCodes, InvalidInput } from "../failure.ts";
import { openSource, type Source } from "../input/source.ts";

/** `headgate replay --recording`: reproduces the decisions that nodes have recorded. */
export async function replayRecordingFiles(paths: readonly string[], json: boolean): Promise<ExitCode> {
  const sources: Source[] = [];
  for (const path of paths.length === 0 ? ["-"] : paths) sources.push(await openSource(path, "LOG"));
  let report: RecordingReport;
  try {
    report = await replayRecordings(sources.map(linesOf));
  } finally {
    for (const source of sources) await source.close();
  }
  if (report.nodes.length === 0) throw new InvalidInput("LOG: is not a recording: it has no header");
  process.stdout.write(json ? `${JSON.stringify(jsonOf(report))}\n` : textOf(report));
  return report.differing > 0 ? exitCodes.differs : exitCodes.done;
}

/** Opened when reading starts: lines that arrive before that would be lost. */
async function* linesOf(source: Source): AsyncGenerator<string> {
  yield* createInterface({ input: Readable.from(source.read()), crlfDelay: Number.POSITIVE_INFINITY });
}

function textOf(report: RecordingReport): string {
  const { nodes, keys, decisions, reproduced, differing, differences, begunBefore, uncertain, others, completeFrom } =
    report;
  const lines = [
    `${countText(decisions)} decisions of the store for ${countText(keys)} keys, recorded by ${countText(nodes.length)} ` +
      `${nodes.length === 1 ? "process" : "processes"}`,
    ...(completeFrom === undefined
      ? []
      : [
          `Complete from ${timeText(completeFrom)}: earlier segments are missing, so ` +
            `${countText(report.incomplete)} earlier decisions are not compared`,
        ]),
    `  reproduced          ${countText(reproduced)}`,
    `  differing           ${countText(differing)}`,
    ...optional("begun before        ", begunBefore, "quota was used before the recording began"),
    ...optional("uncertain           ", uncertain, "a call for the key was not answered before"),
    "Decisions without the store",
    ...Object.entries(others).map(([source, count]) => `  ${source.padEnd(20)}${countText(count)}`),
    ...(report.dropped > 0 ? [`${countText(report.dropped)} entries were not recorded, so others may differ`] : []),
    ...(report.badLines > 0 ? [`${countText(report.badLines)} lines cannot be read`] : []),
    ...differences.map(({ time, key, rule, recorded, replayed }) => {
      return `  ${timeText(time)} ${key} ${rule}: recorded ${JSON.stringify(recorded)}, replayed ${JSON.stringify(replayed)}`;
    }),
  ];
  return `${lines.join("\n")}\n`;
}

function optional(name: string, count: number, why: string): string[] {
  return count === 0 ? [] : [`  ${name}${countText(count)} (${why})`];
}

function jsonOf(report: RecordingReport): Readonly<Record<string, unknown>> {
  const { nodes, keys, decisions, reproduced, differing, differences, begunBefore, uncertain, others, dropped } =
    report;
  return {
    nodes,
    keys,
    decisions,
    reproduced,
    differing,
    begun_before: begunBefore,
    uncertain,
    ...(report.completeFrom !== undefined && { complete_from_ms: report.completeFrom / 1000 }),
    incomplete: report.incomplete,
    others,
    dropped,
    bad_lines: report.badLines,
    differences,
  };
}
