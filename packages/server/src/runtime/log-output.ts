import { close, openSync, write } from "node:fs";
import type { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { HeadgateError } from "headgate";

/** Maximum number of bytes to buffer. Beyond it, lines are dropped: a stuck reader must not fill the memory. */
const MOST_WAITING = 1 << 20;
/** How long writing the last lines may take at shutdown. */
const FLUSH_MS = 1_000;
const FILE_MODE = 0o640;

/** Where log lines go. Writing never throws, waits or ends the process: lines that cannot be written are counted. */
export interface LogOutput {
  readonly isTerminal: boolean;
  /** Number of lines that could not be written. */
  readonly lost: number;
  write(line: string): void;
  /** Opens the destination again, as after a log rotation. Throws, and keeps the old one, if that is not possible. */
  reopen(): void;
  /** Resolves when buffered lines have been written, or after a second. */
  flush(): Promise<void>;
}

/** Standard error. */
export class StreamOutput implements LogOutput {
  readonly isTerminal: boolean;
  lost = 0;
  private readonly stream: Writable;

  constructor(stream: Writable & { readonly isTTY?: boolean }) {
    this.stream = stream;
    this.isTerminal = stream.isTTY === true;
    // Each failed write is counted by its callback. Without a listener, the event would end the process.
    stream.on("error", () => {});
  }

  write(line: string): void {
    if (this.stream.writableLength > MOST_WAITING) {
      this.lost += 1;
      return;
    }
    this.stream.write(line, (error) => {
      if (error) this.lost += 1;
    });
  }

  reopen(): void {}

  async flush(): Promise<void> {
    const end = performance.now() + FLUSH_MS;
    while (this.stream.writableLength > 0 && performance.now() < end) await delay(10);
  }
}

/** Appends lines to a file. */
export class FileOutput implements LogOutput {
  readonly isTerminal = false;
  lost = 0;
  private readonly path: string;
  private file: number;
  private waiting: string[] = [];
  private waitingBytes = 0;
  private writing: Promise<void> | undefined;

  constructor(path: string) {
    this.path = path;
    this.file = opened(path);
  }

  write(line: string): void {
    if (this.waitingBytes > MOST_WAITING) {
      this.lost += 1;
      return;
    }
    this.waiting.push(line);
    this.waitingBytes += line.length;
    this.writing ??= this.writeWaiting();
  }

  reopen(): void {
    const before = this.file;
    this.file = opened(this.path);
    // Finish the write in progress first.
    void Promise.resolve(this.writing).then(() => close(before, () => {}));
  }

  async flush(): Promise<void> {
    await Promise.race([this.writing, delay(FLUSH_MS, undefined, { ref: false })]);
  }

  private async writeWaiting(): Promise<void> {
    while (this.waiting.length > 0) {
      const lines = this.waiting;
      this.waiting = [];
      this.waitingBytes = 0;
      if (!(await writtenWhole(this.file, Buffer.from(lines.join(""))))) this.lost += lines.length;
    }
    this.writing = undefined;
  }
}

function opened(path: string): number {
  try {
    return openSync(path, "a", FILE_MODE);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? ` (${error.code})` : "";
    throw new HeadgateError("HG_BAD_OPTION", "--log-file", `${path} cannot be opened for writing${code}`, {
      cause: error,
    });
  }
}

function writtenWhole(file: number, bytes: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const writeFrom = (at: number): void => {
      write(file, bytes, at, bytes.length - at, null, (error, count) => {
        if (error !== null) resolve(false);
        else if (at + count >= bytes.length) resolve(true);
        else writeFrom(at + count);
      });
    };
    writeFrom(0);
  });
}
