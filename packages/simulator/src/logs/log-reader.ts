import { HeadgateError } from "headgate";
import { type FieldMapping, type LineParser, type LineRequest, type LogFormat, SKIPPED } from "./log-format.ts";
import { detectFormat, logFormats } from "./log-formats.ts";

/** Number of lines to detect the format from. */
const SAMPLE_LINES = 50;
const LONGEST_LINE = 1 << 20;
/** How many bad lines to show, and how much of each. */
const SHOWN_LINES = 5;
const SHOWN_LENGTH = 160;

const NEWLINE = 0x0a;
const NOTHING = new Uint8Array(0);
const decoder = new TextDecoder();

/** A line that could not be read. */
export interface BadLine {
  readonly log: string;
  readonly line: number;
  readonly problem: string;
  /** The beginning of the line. */
  readonly text: string;
}

export interface LogOptions extends FieldMapping {
  /** Default: detected from the first lines. */
  readonly format?: LogFormat | undefined;
  /** Makes the key that is charged of the one in the log. */
  readonly keyOf?: ((key: string) => string) | undefined;
}

/** Reads the requests of one log from its bytes. */
export class LogReader {
  readonly name: string;
  /** The present request, after `next` or `advance` returned true. */
  readonly request: LineRequest = { time: 0, key: "", path: "", method: "", cost: 1 };
  lines = 0;
  badLines = 0;
  /** The first bad lines. */
  readonly shownBadLines: BadLine[] = [];
  /** Undefined until the first lines were read. */
  format: LogFormat | undefined;
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #options: LogOptions;
  #parser: LineParser | undefined;
  #text = "";
  #at = 0;
  /** The beginning of a line whose end has not been read. */
  #rest: Uint8Array = NOTHING;
  #isSkipping = false;

  constructor(name: string, chunks: AsyncIterable<Uint8Array>, options: LogOptions = {}) {
    this.name = name;
    this.#chunks = chunks[Symbol.asyncIterator]();
    this.#options = options;
    this.format = options.format;
  }

  /** Goes to the next request. False at the end of the log. */
  async advance(): Promise<boolean> {
    while (!this.next()) if (!(await this.#load())) return false;
    return true;
  }

  /** Goes to the next request, if it has been loaded already. */
  next(): boolean {
    const parser = this.#parser;
    if (parser === undefined) return false;
    const { request } = this;
    const { keyOf } = this.#options;
    const text = this.#text;
    while (this.#at < text.length) {
      const start = this.#at;
      const newline = text.indexOf("\n", start);
      const end = newline < 0 ? text.length : newline;
      this.#at = end + 1;
      this.lines += 1;
      const last = end > start && text.charCodeAt(end - 1) === 0x0d ? end - 1 : end;
      if (last === start) continue;
      const problem = parser.read(text, start, last, request);
      if (problem === undefined) {
        if (keyOf !== undefined) request.key = keyOf(request.key);
        return true;
      }
      if (problem !== SKIPPED) this.#bad(problem, text.slice(start, Math.min(last, start + SHOWN_LENGTH)));
    }
    return false;
  }

  /** Stops reading before the end. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }

  /** Loads the next whole lines. False at the end of the log. */
  async #load(): Promise<boolean> {
    for (;;) {
      const { done, value } = await this.#chunks.next();
      const bytes = done ? this.#rest : this.#joined(value);
      const end = done ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1;
      this.#rest = bytes.subarray(end);
      if (end > 0) {
        this.#take(decoder.decode(bytes.subarray(0, end)));
        if (done) this.#rest = NOTHING;
        return true;
      }
      if (done) return false;
      if (this.#rest.length > LONGEST_LINE) {
        if (!this.#isSkipping) this.#tooLong();
        this.#rest = NOTHING;
      }
    }
  }

  #joined(chunk: Uint8Array): Uint8Array {
    let added = chunk;
    if (this.#isSkipping) {
      const newline = chunk.indexOf(NEWLINE);
      if (newline < 0) return NOTHING;
      this.#isSkipping = false;
      added = chunk.subarray(newline + 1);
    }
    if (this.#rest.length === 0) return added;
    const all = new Uint8Array(this.#rest.length + added.length);
    all.set(this.#rest);
    all.set(added, this.#rest.length);
    return all;
  }

  #tooLong(): void {
    this.#isSkipping = true;
    this.lines += 1;
    this.#bad("is longer than 1 MiB", decoder.decode(this.#rest.subarray(0, SHOWN_LENGTH)));
  }

  #take(text: string): void {
    this.#text = text;
    this.#at = 0;
    if (this.#parser !== undefined) return;
    if (text.trim() === "") {
      // Blank lines have no format. Others may follow.
      this.lines += text.split("\n").length - 1;
      this.#at = text.length;
      return;
    }
    this.format ??= this.#detected(text);
    this.#parser = this.format.open(this.#options);
  }

  #detected(text: string): LogFormat {
    const lines = text.split("\n", SAMPLE_LINES).map((line) => line.replace(/\r$/, ""));
    const format = detectFormat(lines, this.#options);
    if (format !== undefined) return format;
    const names = logFormats.map(({ name }) => name).join(", ");
    const problem = `${this.name}: the format was not recognized: use one of ${names}`;
    throw new HeadgateError("HG_BAD_OPTION", "format", problem);
  }

  #bad(problem: string, text: string): void {
    this.badLines += 1;
    if (this.shownBadLines.length >= SHOWN_LINES) return;
    this.shownBadLines.push({ log: this.name, line: this.lines, problem, text });
  }
}
