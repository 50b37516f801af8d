import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { FileNotFound, InvalidInput } from "../failure.ts";

/**
 * Bytes that can be read twice: a first look for what must be known beforehand, then in earnest.
 * The first look may end early; it must have ended before the second begins.
 */
export interface Source {
  /** What messages call it. */
  readonly name: string;
  /** In bytes, where that is known. */
  readonly size: number | undefined;
  look(): AsyncIterable<Buffer>;
  read(): AsyncIterable<Buffer>;
  /** Lets go of it, read to the end or not: else the process would wait for the rest. */
  close(): Promise<void>;
}

/** The file at a path; `-` is standard input. */
export async function openSource(path: string, option: string): Promise<Source> {
  if (path === "") throw new InvalidInput(`${option}: must not be empty`);
  try {
    if (path === "-") return new PassingSource("standard input", process.stdin);
    const file = await stat(path);
    if (file.isDirectory()) throw new InvalidInput(`${path}: is a directory, not a file`);
    // A pipe or a device has a path too, but gives its bytes only once.
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

/** Bytes that pass by once: what the first look saw is kept until it has been read in earnest. */
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
  if (code === "EACCES" || code === "EPERM") return new InvalidInput(`${name}: may not be read`);
  return typeof code === "string" ? new InvalidInput(`${name}: cannot be read (${code})`) : error;
}
