import { type FileHandle, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { lockState } from "../runtime/process-lock.ts";
import { readEntry } from "./recording-entry.ts";
import { readHeader } from "./recording-header.ts";
import { lockedNodes, lockName, type Segment, segmentsByNode } from "./recording-segments.ts";

/** Recordings of processes that start and end quickly are small, but each file costs time and space. */
const MOST_ENDED_SEGMENTS = 256;
/** Enough lines to have the latest time: calls are written in the order in which they are answered. */
const TAIL_BYTES = 64 * 1024;

/** Which files of ended processes have to go. */
export interface ExcessRecordings {
  readonly paths: readonly string[];
  /** The latest time in the segments among them. */
  readonly until?: number;
}

export interface RecordingsBound {
  readonly folder: string;
  /** The process that asks, whose recording is kept. */
  readonly node: string;
  /** Of all recordings in the folder. */
  readonly maxBytes: number;
  /** How large the last segment of each running process becomes, at least. */
  readonly segmentBytes: number;
}

interface EndedSegment {
  readonly path: string;
  readonly size: number;
  readonly writtenMs: number;
}

/**
 * Finds the oldest segments of ended processes without which the folder keeps to its bound, and what killed processes
 * have left. Files that are not recordings, and recordings of running processes, are never among them.
 */
export async function excessRecordings(bound: RecordingsBound): Promise<ExcessRecordings> {
  const names = await readdir(bound.folder);
  const ended: EndedSegment[] = [];
  const paths: string[] = [];
  const states = new Map<string, Awaited<ReturnType<typeof lockState>>>();
  for (const node of lockedNodes(names)) {
    const lock = join(bound.folder, lockName(node));
    const state = await lockState(lock);
    states.set(node, state);
    if (state === "ended") paths.push(lock);
  }
  let total = 0;
  for (const [node, segments] of segmentsByNode(names)) {
    const state = node === bound.node ? "held" : states.get(node);
    if (state === "held") total += await sizeOfRunning(segments, bound);
    else {
      for (const segment of await endedSegments(node, segments, bound.folder)) {
        // Its process was killed before it wrote a line.
        if (segment.size === 0) {
          if (state === "ended") paths.push(segment.path);
          continue;
        }
        ended.push(segment);
        total += segment.size;
      }
    }
  }
  ended.sort((a, b) => a.writtenMs - b.writtenMs || (a.path < b.path ? -1 : 1));
  const times: number[] = [];
  for (const [i, { path, size }] of ended.entries()) {
    if (total <= bound.maxBytes && ended.length - i <= MOST_ENDED_SEGMENTS) break;
    paths.push(path);
    total -= size;
    times.push(...((await withFile(path, timesIn)) ?? []));
  }
  return { paths, ...(times.length > 0 && { until: Math.max(...times) }) };
}

export async function deleteRecordings({ paths }: ExcessRecordings): Promise<void> {
  // Another process may do the same.
  for (const path of paths) await rm(path, { force: true });
}

/** The size of the recording of a running process as soon as its last segment is full. */
async function sizeOfRunning(segments: readonly Segment[], { folder, segmentBytes }: RecordingsBound): Promise<number> {
  let total = 0;
  for (const [i, { name }] of segments.entries()) {
    const size = (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0;
    total += i === segments.length - 1 ? Math.max(size, segmentBytes) : size;
  }
  return total;
}

/** Without files that only have the name of a segment. */
async function endedSegments(node: string, segments: readonly Segment[], folder: string): Promise<EndedSegment[]> {
  const found = segments.map(({ name }) => {
    const path = join(folder, name);
    return withFile(path, async (file): Promise<EndedSegment[]> => {
      const { size, mtimeMs: writtenMs } = await file.stat();
      return size === 0 || (await readHeader(file))?.node === node ? [{ path, size, writtenMs }] : [];
    });
  });
  return (await Promise.all(found)).flatMap((segment) => segment ?? []);
}

/** The latest times that a segment tells of. */
async function timesIn(file: FileHandle): Promise<number[]> {
  const { continues, deletedUntil } = (await readHeader(file)) ?? {};
  const { size } = await file.stat();
  const from = Math.max(0, size - TAIL_BYTES);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from);
  const lines = buffer.toString("utf8", 0, bytesRead).split("\n");
  const times = lines.map(readEntry).map((entry) => {
    return entry !== undefined && entry.type !== "header" && "time" in entry ? entry.time : undefined;
  });
  return [continues?.after, deletedUntil, ...times].filter((time) => time !== undefined);
}

/** Undefined if the file cannot be read: it was deleted, or belongs to another user. */
async function withFile<Result>(path: string, use: (file: FileHandle) => Promise<Result>): Promise<Result | undefined> {
  const file = await open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
