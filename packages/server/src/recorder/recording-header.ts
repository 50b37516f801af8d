import type { FileHandle } from "node:fs/promises";
import { type RecordingHeader, readEntry } from "./recording-entry.ts";

/** Longer than the first line of a segment. */
const HEADER_BYTES = 512;

/** The first line of a segment. Undefined if the file is not one, or its process was killed before it wrote the line. */
export async function readHeader(file: FileHandle): Promise<RecordingHeader | undefined> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
  const entry = readEntry(buffer.toString("utf8", 0, bytesRead).split("\n", 1)[0]);
  return entry?.type === "header" ? entry : undefined;
}
