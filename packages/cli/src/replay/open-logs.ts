import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { HeadgateError } from "headgate";
import type { Dimension } from "headgate-server";
import {
  addressKey,
  countText,
  formatNamed,
  type LogOptions,
  LogReader,
  mergeLogs,
  shareText,
} from "headgate-simulator";
import { InvalidInput } from "../failure.ts";
import { openSource, type Source } from "../input/source.ts";
import { Progress } from "../scenario/progress.ts";

/** The options that say what the fields of a log mean. */
export interface LogFieldOptions {
  readonly format?: string;
  readonly key?: string;
  readonly time?: string;
  readonly path?: string;
  readonly method?: string;
  readonly cost?: string;
}

/** The logs of a command, ready to be read. */
export interface OpenLogs {
  readonly logs: readonly LogReader[];
  /** Whose requests the logs have. */
  readonly dimension: Dimension;
  /** Size of all logs together, if known. */
  readonly size: number | undefined;
  /** Number of bytes read so far, before decompression. */
  bytes(): number;
  close(): Promise<void>;
}

/** How often progress is looked at, in requests. */
const PROGRESS_EVERY = 1 << 14;
const DIMENSION = /^(user|ip|apikey)=(.*)$/s;
const [GZIP_FIRST, GZIP_SECOND] = [0x1f, 0x8b];

/** Opens logs, plain or gzip. Without paths, or for `-`, it is standard input. */
export async function openLogs(paths: readonly string[], options: LogFieldOptions): Promise<OpenLogs> {
  const { dimension, ...reading } = readingOf(options);
  const sources: Source[] = [];
  let bytes = 0;
  const counted = async function* (source: Source): AsyncIterable<Buffer> {
    for await (const piece of source.read()) {
      bytes += piece.length;
      yield piece;
    }
  };
  for (const path of paths.length === 0 ? ["-"] : paths) sources.push(await openSource(path, "LOG"));
  const sizes = sources.map(({ size }) => size);
  return {
    logs: sources.map((source) => new LogReader(source.name, plain(source.name, counted(source)), reading)),
    dimension,
    size: sizes.reduce<number | undefined>(
      (sum, size) => (sum === undefined || size === undefined ? undefined : sum + size),
      0,
    ),
    bytes: () => bytes,
    async close() {
      for (const source of sources) await source.close();
    },
  };
}

/** Reads all logs to the end, with progress on a terminal. */
export async function readLogs(open: OpenLogs, add: Parameters<typeof mergeLogs>[1]): Promise<void> {
  const progress = new Progress(process.stderr, open.size);
  let read = 0;
  try {
    await mergeLogs(open.logs, (request) => {
      add(request);
      read += 1;
      if (read % PROGRESS_EVERY === 0) progress.show(read, open.bytes());
    });
  } catch (error) {
    throw asInvalid(error);
  } finally {
    progress.erase();
  }
}

export function countLines({ logs }: OpenLogs): { readonly read: number; readonly bad: number } {
  return {
    read: logs.reduce((sum, log) => sum + log.lines, 0),
    bad: logs.reduce((sum, log) => sum + log.badLines, 0),
  };
}

/** The format of each log, and the lines that could not be read. */
export function notesOn({ logs }: OpenLogs): string[] {
  return logs.flatMap(({ name, format, lines, badLines, shownBadLines }) => [
    `${name}: ${countText(lines)} lines, format ${format?.name ?? "unknown"}`,
    ...(badLines > 0
      ? [`${name}: ${countText(badLines)} bad ${badLines === 1 ? "line" : "lines"} (${shareText(badLines, lines)})`]
      : []),
    ...shownBadLines.map(({ line, problem, text }) => `  line ${line} ${problem}: ${JSON.stringify(text)}`),
  ]);
}

function readingOf({ format, key, ...mapping }: LogFieldOptions): LogOptions & { readonly dimension: Dimension } {
  const [, stated, field] = key === undefined ? [] : (DIMENSION.exec(key) ?? ["", "user", key]);
  const dimension = (stated ?? "ip") as Dimension;
  return {
    ...mapping,
    key: field,
    format: format === undefined ? undefined : named(format),
    dimension,
    ...(dimension === "ip" && { keyOf: addressKey }),
  };
}

function named(format: string): ReturnType<typeof formatNamed> {
  try {
    return formatNamed(format);
  } catch (error) {
    throw asInvalid(error);
  }
}

/** What the readers of logs complain about are options of the command. */
function asInvalid(error: unknown): unknown {
  return error instanceof HeadgateError ? new InvalidInput(`--${error.message}`, { cause: error }) : error;
}

/** Decompresses if the first bytes say so. */
async function* plain(name: string, pieces: AsyncIterable<Buffer>): AsyncIterable<Uint8Array> {
  const rest = pieces[Symbol.asyncIterator]();
  let first = Buffer.alloc(0);
  while (first.length < 2) {
    const { done, value } = await rest.next();
    if (done) break;
    first = Buffer.concat([first, value]);
  }
  const whole = async function* (): AsyncIterable<Buffer> {
    yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  };
  if (first[0] !== GZIP_FIRST || first[1] !== GZIP_SECOND) {
    yield* whole();
    return;
  }
  const input = Readable.from(whole());
  const output = createGunzip({ chunkSize: 1 << 18 });
  input.on("error", (error) => output.destroy(error));
  try {
    yield* input.pipe(output);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (typeof code !== "string" || !code.startsWith("Z_")) throw error;
    throw new InvalidInput(`${name}: is not valid gzip data (${code})`, { cause: error });
  }
}
