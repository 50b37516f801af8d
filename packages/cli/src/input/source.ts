import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { FileNotFound, InvalidInput } from "../failure.ts";

/**
 * Bytes that can be read twice: once to look for what has to be known in advance, and once to process them. The first
 * pass may stop early, and has to end before the second starts.
 */
export interface Source {
  /** Name for use in messages. */
  readonly name: string;
  /** Size in bytes, if known. */
  readonly size: number | undefined;
  look(): AsyncIterable<Buffer>;
  read(): AsyncIterable<Buffer>;
  /** Closes the source even if it was not read to the end, so that the process can exit. */
  close(): Promise<void>;
}

/** Opens the file at a path; `-` is standard input. */
export async function openSource(path: string, option: string): Promise<Source> {
  if (path === "") throw new InvalidInput(`${option}: must not be empty`);
  try {
    if (path === "-") return new PassingSource("standard input", process.stdin);
    const file = await stat(path);
    if (file.isDirectory()) throw new InvalidInput(`${path}: is a directory, not a file`);
    // Pipes and devices have a path too, but can be read only once.
    return file.isFile() ? new FileSource(path, file.size) : new PassingSource(path, createReadStream(path));
  } catch (error) {
    throw readFailure(path, error);
  }
}

class FileSource implements Source {
  readonly name: string;
  readonly size: number;

  constructor(path: string, size: number) {
    this.name = path;
    this.size = size;
  }

  async *look(): AsyncIterable<Buffer> {
    try {
      yield* createReadStream(this.name);
    } catch (error) {
      throw readFailure(this.name, error);
    }
  }

  read(): AsyncIterable<Buffer> {
    return this.look();
  }

  async close(): Promise<void> {}
}

/** A stream that can be read only once. Keeps what the first pass read for the second. */
class PassingSource implements Source {
  readonly name: string;
  readonly size = undefined;
  private readonly pieces: AsyncIterator<Buffer>;
  private readonly kept: Buffer[] = [];

  constructor(name: string, stream: AsyncIterable<Buffer>) {
    this.name = name;
    this.pieces = stream[Symbol.asyncIterator]();
  }

  async *look(): AsyncIterable<Buffer> {
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) {
      this.kept.push(piece);
      yield piece;
    }
  }

  async *read(): AsyncIterable<Buffer> {
    const kept = this.kept.reverse();
    for (let piece = kept.pop(); piece !== undefined; piece = kept.pop()) yield piece;
    for (let piece = await this.next(); piece !== undefined; piece = await this.next()) yield piece;
  }

  async close(): Promise<void> {
    await this.pieces.return?.();
  }

  private async next(): Promise<Buffer | undefined> {
    try {
      const { done, value } = await this.pieces.next();
      return done ? undefined : value;
    } catch (error) {
      throw readFailure(this.name, error);
    }
  }
}

function readFailure(name: string, error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT" || code === "ENOTDIR") return new FileNotFound(`${name}: no such file`);
  if (code === "EISDIR") return new InvalidInput(`${name}: is a directory, not a file`);
  if (code === "EACCES" || code === "EPERM") return new InvalidInput(`${name}: permission denied`);
  return typeof code === "string" ? new InvalidInput(`${name}: cannot be read (${code})`) : error;
}
