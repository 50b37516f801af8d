import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { ProcessLock } from "../runtime/process-lock.ts";
import { deleteRecordings, excessRecordings } from "./ended-recordings.ts";
import { entryLine, type RecordingEntry, type RecordingHeader } from "./recording-entry.ts";
import { lockName, segmentName } from "./recording-segments.ts";

const FLUSH_MS = 200;
/** How much may wait for a slow disk. */
const MOST_WAITING = 8 * 1024 * 1024;
/** Room for the last line of a segment. */
const END_BYTES = 64;
/** Room for what the header says of deleted recordings. */
const DELETED_BYTES = 32;
/** How many segments a recording has at most. When another one begins, the oldest is deleted. */
const MOST_SEGMENTS = 8;

export interface RecordingFileOptions {
  readonly folder: string;
  /** The process that records, which the names of the files begin with. */
  readonly node: string;
  /** Of all recordings in the folder. */
  readonly maxBytes: number;
  /** How many processes of this node record. Each has an equal part of `maxBytes`. */
  readonly processes?: number;
  /** Called if the disk refuses a write. The recording ends then. */
  readonly onFailure: (error: Error) => void;
}

/**
 * Appends entries to a recording and keeps the latest, in segments. With each segment, deletes recordings of processes
 * that have ended, if the folder would become too large. Entries that a slow disk leaves no room for are counted.
 */
export class RecordingFile {
  readonly #options: RecordingFileOptions;
  readonly #segmentBytes: number;
  /** The lines of all limits, and the numbers of those that the current segment has. */
  readonly #limits = new Map<number, string>();
  #written = new Set<number>();
  #header: RecordingHeader | undefined;
  /** The latest time in the segments so far. */
  #latest = 0;
  /** The latest time in recordings of other processes that were deleted. */
  #deletedUntil: number | undefined;
  #segment = 0;
  /** Of the current segment. */
  #bytes = 0;
  #dropped = 0;
  #lines: string[] = [];
  #file: FileHandle;
  readonly #lock: ProcessLock;
  /** Pending writes, in order, and their size in bytes. */
  #writing: Promise<void> = Promise.resolve();
  #waiting = 0;
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;

  /** Fails if the file exists or cannot be written. */
  static async create(options: RecordingFileOptions): Promise<RecordingFile> {
    const { folder, node } = options;
    await mkdir(folder, { recursive: true });
    const lock = await ProcessLock.take(join(folder, lockName(node)));
    try {
      return new RecordingFile(options, await create(options, 0), lock);
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  private constructor(options: RecordingFileOptions, file: FileHandle, lock: ProcessLock) {
    const { maxBytes, processes = 1 } = options;
    this.#options = options;
    this.#segmentBytes = Math.floor(maxBytes / processes / MOST_SEGMENTS) - END_BYTES;
    this.#file = file;
    this.#lock = lock;
  }

  add(entry: RecordingEntry): void {
    if (entry.type === "header") {
      this.#header = entry;
      this.#begin(entry);
    } else if (entry.type === "limit") {
      // Written with the first call that uses it, in each segment.
      this.#limits.set(entry.number, entryLine(entry));
    } else this.#addNew(entry);
  }

  #addNew(entry: RecordingEntry): void {
    if (this.#hasFailed || this.#waiting > MOST_WAITING) {
      this.#dropped += 1;
      return;
    }
    let text = this.#withLimits(entry);
    if (this.#bytes + Buffer.byteLength(text) > this.#segmentBytes) {
      this.#rotate();
      text = this.#withLimits(entry);
    }
    if (this.#bytes + Buffer.byteLength(text) > this.#segmentBytes) {
      this.#dropped += 1;
      return;
    }
    this.#append(text);
    if (entry.type === "call") for (const { limit } of entry.operations) this.#written.add(limit);
    if ("time" in entry) this.#latest = Math.max(this.#latest, entry.time);
  }

  /** The line of an entry, after those of its limits that the segment does not have. */
  #withLimits(entry: RecordingEntry): string {
    if (entry.type !== "call") return entryLine(entry);
    const missing = new Set(entry.operations.map(({ limit }) => limit).filter((limit) => !this.#written.has(limit)));
    return [...missing].map((limit) => this.#limits.get(limit) ?? "").join("") + entryLine(entry);
  }

  #append(text: string): void {
    this.#bytes += Buffer.byteLength(text);
    this.#lines.push(text);
    this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
  }

  /** Resolves when the header is written and excess recordings are deleted. */
  written(): Promise<void> {
    return this.#writing;
  }

  /** Writes what is waiting, and the last line. */
  async close(): Promise<void> {
    this.#end();
    this.#do(0, () => this.#file.close());
    await this.#writing;
    await this.#lock.release();
  }

  /** Begins another segment. */
  #rotate(): void {
    this.#end();
    this.#segment += 1;
    const segment = this.#segment;
    this.#do(0, async () => {
      await this.#file.close();
      const oldest = segment - MOST_SEGMENTS;
      const { folder, node } = this.#options;
      if (oldest >= 0) await rm(join(folder, segmentName(node, oldest)), { force: true });
      this.#file = await create(this.#options, segment);
    });
    this.#bytes = 0;
    this.#dropped = 0;
    this.#written = new Set();
    if (this.#header !== undefined) this.#begin({ ...this.#header, continues: { segment, after: this.#latest } });
  }

  /** Writes the first line of a segment, and makes room for the others. */
  #begin(header: RecordingHeader): void {
    this.#bytes = Buffer.byteLength(entryLine(header)) + DELETED_BYTES;
    this.#do(0, async () => {
      // The empty segment exists by now, so of two processes that do this, the later one sees both.
      const excess = await excessRecordings({ ...this.#options, segmentBytes: this.#segmentBytes + END_BYTES });
      const { until = this.#deletedUntil } = excess;
      if (until !== undefined) this.#deletedUntil = Math.max(until, this.#deletedUntil ?? until);
      const deletedUntil = this.#deletedUntil;
      await this.#file.appendFile(entryLine(deletedUntil === undefined ? header : { ...header, deletedUntil }));
      // Only now, so that the folder says what is missing even if this process is killed.
      await deleteRecordings(excess);
    });
  }

  #end(): void {
    this.#lines.push(entryLine({ type: "end", dropped: this.#dropped }));
    this.#flush();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const bytes = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    this.#do(bytes.length, () => this.#file.appendFile(bytes));
  }

  /** After everything before it; not at all if something before it has failed. */
  #do(bytes: number, act: () => Promise<void>): void {
    this.#waiting += bytes;
    this.#writing = this.#writing.then(async () => {
      try {
        if (!this.#hasFailed) await act();
      } catch (error) {
        this.#hasFailed = true;
        this.#options.onFailure(error instanceof Error ? error : new Error(String(error)));
      }
      this.#waiting -= bytes;
    });
  }
}

/** Even with hashed identifiers, it shows how often each identity made requests, so only the owner can read the file. */
function create({ folder, node }: RecordingFileOptions, segment: number): Promise<FileHandle> {
  return open(join(folder, segmentName(node, segment)), "ax", 0o600);
}
