import { createWriteStream, type WriteStream } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { finished } from "node:stream/promises";
import { entryLine, type RecordingEntry } from "./recording-entry.ts";

const FLUSH_MS = 200;
/** How much may wait for a slow disk. */
const MOST_WAITING = 8 * 1024 * 1024;
/** Room for the last line. */
const END_BYTES = 64;

/** Appends entries to a file up to its maximum size. Entries beyond it are counted. */
export class RecordingFile {
  dropped = 0;
  readonly #stream: WriteStream;
  readonly #maxBytes: number;
  readonly #onFull: () => void;
  #waiting: string[] = [];
  #bytes = 0;
  #isFull = false;
  #timer: NodeJS.Timeout | undefined;

  /** Fails if the file exists or cannot be written. */
  static async create(path: string, maxBytes: number, onFull: (error?: Error) => void): Promise<RecordingFile> {
    await mkdir(dirname(path), { recursive: true });
    // Hashed identifiers still tell who made many requests.
    const stream = createWriteStream(path, { flags: "wx", mode: 0o600 });
    await new Promise<void>((resolve, reject) => stream.once("open", () => resolve()).once("error", reject));
    return new RecordingFile(stream, maxBytes, onFull);
  }

  private constructor(stream: WriteStream, maxBytes: number, onFull: (error?: Error) => void) {
    this.#stream = stream;
    this.#maxBytes = maxBytes;
    this.#onFull = onFull;
    stream.on("error", (error) => {
      this.#isFull = true;
      onFull(error);
    });
  }

  add(entry: RecordingEntry): void {
    if (this.#isFull) {
      this.dropped += 1;
      return;
    }
    const line = entryLine(entry);
    const bytes = Buffer.byteLength(line);
    if (this.#bytes + bytes > this.#maxBytes - END_BYTES) {
      this.dropped += 1;
      this.#isFull = true;
      this.#onFull();
      return;
    }
    if (this.#stream.writableLength > MOST_WAITING) {
      this.dropped += 1;
      return;
    }
    this.#bytes += bytes;
    this.#waiting.push(line);
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
  }

  /** Writes what is waiting, and the last line. */
  async close(): Promise<void> {
    this.#flush();
    this.#stream.end(entryLine({ type: "end", dropped: this.dropped }));
    await finished(this.#stream).catch(() => {});
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length === 0) return;
    this.#stream.write(this.#waiting.join(""));
    this.#waiting = [];
  }
}
