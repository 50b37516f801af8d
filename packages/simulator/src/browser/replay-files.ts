import type { BadLine, LogOptions, LogReader } from "../logs/log-reader.ts";
import { mergeLogs } from "../logs/merge-logs.ts";
import { Replay, type ReplayOptions } from "../replay/replay.ts";
import type { ReplayReport } from "../replay/replay-report.ts";
import type { RulesFor, TrafficRequest } from "../replay/traffic-request.ts";
import { type NamedBlob, openFile } from "./open-file.ts";

export interface FilesOptions extends LogOptions {
  /** Called from time to time with the number of bytes read, of all files together. */
  readonly onProgress?: (bytes: number, size: number) => void;
  /** Stops reading. The call then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** What was read of one file. */
export interface FileSummary {
  readonly name: string;
  readonly format: string | undefined;
  readonly lines: number;
  readonly badLines: number;
  readonly shownBadLines: readonly BadLine[];
}

/** Plain data, which a worker can pass to the page. */
export interface FilesReplay {
  readonly report: ReplayReport;
  readonly files: readonly FileSummary[];
}

/** Replays log files that a user chose, plain or gzip, in a page or in a worker. */
export async function replayFiles(
  files: readonly NamedBlob[],
  rulesFor: RulesFor,
  options: FilesOptions & ReplayOptions = {},
): Promise<FilesReplay> {
  const replay = new Replay(rulesFor, options);
  const summaries = await readFiles(files, options, (request) => replay.add(request));
  return { report: replay.finish(), files: summaries };
}

/** Passes the requests of log files on, merged in order of time. The object is the same each time. */
export async function readFiles(
  files: readonly NamedBlob[],
  { onProgress, signal, ...options }: FilesOptions,
  add: (request: TrafficRequest) => void,
): Promise<readonly FileSummary[]> {
  const size = files.reduce((sum, file) => sum + file.size, 0);
  let bytes = 0;
  const onBytes = (read: number): void => {
    bytes += read;
    onProgress?.(bytes, size);
  };
  const logs: LogReader[] = [];
  try {
    for (const file of files) logs.push(await openFile(file, options, onBytes));
    await mergeLogs(logs, (request) => {
      signal?.throwIfAborted();
      add(request);
    });
  } finally {
    await Promise.all(logs.map((log) => log.close()));
  }
  return logs.map(({ name, format, lines, badLines, shownBadLines }) => {
    return { name, format: format?.name, lines, badLines, shownBadLines };
  });
}
