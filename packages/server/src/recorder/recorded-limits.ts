import type { FileHandle } from "node:fs/promises";
import { isCandidateCounter } from "../rules/shared-counter.ts";
import { readEntry } from "./recording-entry.ts";

const CHUNK_BYTES = 256 * 1024;
const LIMIT_LINE = '["l",';
const NEWLINE = 0x0a;

/**
 * Which rule each limit of one recording belongs to. A recording only grows, so what was read once stays true, and the
 * next call reads only what was added.
 */
export class RecordedLimits {
  /** By number. Limits of candidates are left out: they count the same requests again. */
  readonly #rules = new Map<number, string>();
  #readTo = 0;

  ruleOf(number: number): string | undefined {
    return this.#rules.get(number);
  }

  /** Reads the limits up to a place in the file. */
  async readUpTo(file: FileHandle, end: number): Promise<void> {
    let length = CHUNK_BYTES;
    while (this.#readTo < end) {
      const from = this.#readTo;
      const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, from);
      const whole = buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE) + 1;
      if (whole === 0 && bytesRead < length) return;
      // A line that is longer than the chunk.
      length = whole === 0 ? 2 * length : CHUNK_BYTES;
      this.#readLines(buffer.subarray(0, whole));
      this.#readTo = Math.max(this.#readTo, from + whole);
    }
  }

  #readLines(lines: Buffer): void {
    let at = lines.indexOf(LIMIT_LINE);
    while (at !== -1) {
      const end = lines.indexOf(NEWLINE, at);
      const isStart = at === 0 || lines[at - 1] === NEWLINE;
      const entry = isStart ? readEntry(lines.toString("utf8", at, end)) : undefined;
      if (entry?.type === "limit" && !isCandidateCounter(entry.counter)) this.#rules.set(entry.number, entry.rule);
      at = lines.indexOf(LIMIT_LINE, end);
    }
  }
}
