import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { HeadgateError } from "headgate";
import { z } from "zod";
import type { RateLimitRule } from "../rules/rule.ts";
import { RecordedLimits } from "./recorded-limits.ts";
import { type RecordedCall, type RecordingEntry, type RecordingHeader, readEntry } from "./recording-entry.ts";
import { readHeader } from "./recording-header.ts";
import { nodeOf, type Segment, segmentsByNode } from "./recording-segments.ts";

/** What changes the usage of a key. */
const ACTIONS = ["take", "penalize", "refund", "reset"] as const;

/** A request, or a correction, that was counted under one rule. */
export interface RecordedRequest {
  /** By the store's clock, in microseconds since the epoch. */
  readonly time: number;
  /** Hashed. */
  readonly key: string;
  readonly action: (typeof ACTIONS)[number];
  readonly cost: number;
  readonly allowed: boolean;
  /** What the store said was left, in units. Undefined where its calls are not the requests. */
  readonly remaining?: number;
  /** Hashed. A second request of the key with the same one and the same time is a retry, which is not counted. */
  readonly idempotencyKey?: string;
}

export interface RecordedPage {
  /** Number of processes whose recordings are read. */
  readonly processes: number;
  readonly requests: readonly RecordedRequest[];
  /**
   * Since when the pages up to this one have all requests, in microseconds. Undefined if there is no next page and no
   * segment was deleted.
   */
  readonly completeFrom?: number;
  /** The cursor of the next page, with earlier requests. */
  readonly next?: string;
}

export interface RecordedPageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  /** Only requests of this key, hashed. */
  readonly key?: string | undefined;
}

/** Recordings of the processes that started last: the workers of a node, and a few starts of it. */
const MOST_RECORDINGS = 32;
/** Few enough lines to be parsed in a few milliseconds. Other work runs before the next block. */
const BLOCK_BYTES = 32 * 1024;
/** How much of the recordings is read for one page, however few requests it has. */
const MOST_BYTES = 4 * 1024 * 1024;
const NEWLINE = 0x0a;

/** How far the recording of a process has been read, from its end. */
interface Place {
  readonly node: string;
  /** The segment that is read at present, and how much of it is left. */
  name: string;
  end: number;
  /** The earliest time that was read. */
  time: number;
}

type RuleOfPage = Pick<RateLimitRule, "rule_id" | "consistency">;
type SoughtRequests = RuleOfPage & Pick<RecordedPageQuery, "key">;

const cursorForm = z
  .array(z.tuple([z.string().max(256), z.int().min(0), z.number().nullable()]))
  .min(1)
  .max(MOST_RECORDINGS);

/**
 * The recorded requests of one rule, latest first, in pages. Reads the recordings in the folder of this node, which are
 * those of all its workers, so that every worker gives the same answer.
 */
export class RecordedRequests {
  readonly #folder: string;
  readonly #limits = new Map<string, RecordedLimits>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async page(rule: RuleOfPage, { limit, cursor, key }: RecordedPageQuery): Promise<RecordedPage> {
    const names: readonly string[] = await readdir(this.#folder).catch(noneIfGone);
    const recordings = segmentsByNode(names);
    const latest = [...recordings.keys()].slice(-MOST_RECORDINGS);
    const pages = new OpenSegments(this.#folder, recordings, this.#limits);
    try {
      const places = cursor === undefined ? await pages.latest(latest) : await pages.at(placesIn(cursor));
      for (const name of this.#limits.keys()) if (!names.includes(name)) this.#limits.delete(name);
      const requests = await readBack({ ...rule, key }, limit, places, pages);
      const left = places.filter(({ end }) => end > 0);
      const times = [...left.map(({ time }) => time), ...(await pages.deletedUntil(latest))];
      return {
        processes: Math.max(latest.length, places.length),
        requests,
        ...(times.length > 0 && { completeFrom: Math.max(...times) }),
        ...(left.length > 0 && { next: cursorAt(left) }),
      };
    } finally {
      await pages.close();
    }
  }
}

/** The segments of recordings that are read for one page. */
class OpenSegments {
  readonly #folder: string;
  readonly #recordings: ReadonlyMap<string, readonly Segment[]>;
  readonly #limits: Map<string, RecordedLimits>;
  readonly #files = new Map<string, FileHandle>();

  constructor(
    folder: string,
    recordings: ReadonlyMap<string, readonly Segment[]>,
    limits: Map<string, RecordedLimits>,
  ) {
    this.#folder = folder;
    this.#recordings = recordings;
    this.#limits = limits;
  }

  /** The ends of recordings. */
  latest(nodes: readonly string[]): Promise<Place[]> {
    return this.at(
      nodes.map((node) => {
        const name = this.#recordings.get(node)?.at(-1)?.name ?? "";
        return { node, name, end: Number.MAX_SAFE_INTEGER, time: Number.POSITIVE_INFINITY };
      }),
    );
  }

  async at(places: Place[]): Promise<Place[]> {
    for (const place of places) await this.#open(place);
    return places;
  }

  /** Goes on to the segment before, if this one has been read. */
  async proceed(place: Place): Promise<void> {
    if (place.end > 0) return;
    const segments = this.#recordings.get(place.node) ?? [];
    const before = segments[segments.findIndex(({ name }) => name === place.name) - 1];
    if (before === undefined) return;
    place.name = before.name;
    place.end = Number.MAX_SAFE_INTEGER;
    await this.#open(place);
  }

  /** The latest times in segments that were deleted, according to each recording. */
  async deletedUntil(nodes: readonly string[]): Promise<number[]> {
    const times: (number | undefined)[] = [];
    for (const node of nodes) {
      const segments = this.#recordings.get(node) ?? [];
      if (segments[0]?.number !== 0) times.push((await this.#headerOf(segments[0]))?.continues?.after);
      times.push((await this.#headerOf(segments.at(-1)))?.deletedUntil);
    }
    return times.filter((time) => time !== undefined);
  }

  async #headerOf(segment: Segment | undefined): Promise<RecordingHeader | undefined> {
    if (segment === undefined) return undefined;
    const file = this.#files.get(segment.name) ?? (await this.#openFile(segment.name));
    return file && readHeader(file);
  }

  limitsIn(name: string): RecordedLimits {
    const known = this.#limits.get(name) ?? new RecordedLimits();
    this.#limits.set(name, known);
    return known;
  }

  fileOf({ name }: Place): FileHandle {
    const file = this.#files.get(name);
    if (file === undefined) throw new Error(`${name} is not open`);
    return file;
  }

  async close(): Promise<void> {
    for (const file of this.#files.values()) await file.close();
  }

  async #open(place: Place): Promise<void> {
    const file = await this.#openFile(place.name);
    if (file === undefined) {
      place.end = 0;
      return;
    }
    const { size } = await file.stat();
    place.end = Math.min(place.end, size);
    await this.limitsIn(place.name).readUpTo(file, place.end);
  }

  /** Undefined if it was deleted. */
  async #openFile(name: string): Promise<FileHandle | undefined> {
    const file = await open(join(this.#folder, name)).catch(noneIfGone);
    if (!("stat" in file)) return undefined;
    this.#files.set(name, file);
    return file;
  }
}

/** Reads blocks from the ends of the recordings, always of the one that has been read the least far back. */
async function readBack(
  sought: SoughtRequests,
  limit: number,
  places: readonly Place[],
  pages: OpenSegments,
): Promise<RecordedRequest[]> {
  const found: RecordedRequest[] = [];
  let bytes = 0;
  while (found.length < limit && bytes < MOST_BYTES) {
    const left = places.filter(({ end }) => end > 0);
    if (left.length === 0) break;
    const place = left.reduce((latest, each) => (each.time > latest.time ? each : latest));
    const before = place.end;
    const limits = pages.limitsIn(place.name);
    await eachLineBack(pages.fileOf(place), place, (entry) => {
      const request = requestIn(entry, sought, limits);
      if (request !== undefined) found.push(request);
      return found.length < limit;
    });
    bytes += before - place.end;
    await pages.proceed(place);
  }
  return found;
}

/** Calls `each` with the entries of the last block before a place, last first, until it returns false. */
async function eachLineBack(
  file: FileHandle,
  place: Place,
  each: (entry: RecordingEntry) => boolean,
  length = BLOCK_BYTES,
): Promise<void> {
  const from = Math.max(0, place.end - length);
  const block = Buffer.allocUnsafe(place.end - from);
  await file.read(block, 0, block.length, from);
  let end = block.length;
  while (end > 0) {
    const start = end === 1 ? 0 : block.lastIndexOf(NEWLINE, end - 2) + 1;
    // It begins before the block.
    if (start === 0 && from > 0) break;
    const entry = readEntry(block.toString("utf8", start, end));
    end = start;
    place.end = from + end;
    if (entry === undefined) continue;
    if ("time" in entry && entry.type !== "header") place.time = Math.min(place.time, entry.time);
    if (!each(entry)) return;
  }
  if (end === block.length) await eachLineBack(file, place, each, 2 * length);
}

/** What an entry says of a request under the rule, and of the key if one is sought, if it does. */
function requestIn(
  entry: RecordingEntry,
  { rule_id, consistency, key: soughtKey }: SoughtRequests,
  limits: RecordedLimits,
): RecordedRequest | undefined {
  if (soughtKey !== undefined && (!("key" in entry) || entry.key !== soughtKey)) return undefined;
  if (entry.type === "other") {
    if (entry.rule !== rule_id || entry.isCandidate) return undefined;
    const { time, key, cost, allowed } = entry;
    return { time, key, action: "take", cost, allowed };
  }
  // Leases and caches make calls that are not requests, so decisions are recorded apart.
  if (entry.type !== "call" || consistency !== "strict") return undefined;
  const action = ACTIONS.find((each) => each === entry.action);
  const at = entry.operations.findIndex(({ limit }) => limits.ruleOf(limit) === rule_id);
  if (at === -1 || action === undefined || (action === "take" && isDeniedByOthers(entry, at))) return undefined;
  const { time, key, idempotency } = entry;
  return {
    time,
    key,
    action,
    cost: entry.operations[at].cost,
    allowed: entry.answers[at].allowed,
    remaining: entry.answers[at].remaining,
    ...(idempotency && { idempotencyKey: idempotency.key }),
  };
}

/** Then it was charged nowhere. */
function isDeniedByOthers({ answers, deniedElsewhere }: RecordedCall, own: number): boolean {
  return deniedElsewhere === true || answers.some(({ allowed }, i) => i !== own && !allowed);
}

function cursorAt(places: readonly Place[]): string {
  const text = JSON.stringify(places.map(({ name, end, time }) => [name, end, Number.isFinite(time) ? time : null]));
  return Buffer.from(text).toString("base64url");
}

function placesIn(cursor: string): Place[] {
  const { data } = cursorForm.safeParse(parsed(Buffer.from(cursor, "base64url").toString()));
  const places = data?.flatMap(([name, end, time]) => {
    const node = nodeOf(name);
    return node === undefined ? [] : [{ node, name, end, time: time ?? Number.POSITIVE_INFINITY }];
  });
  // A recording that is named twice would be opened twice, and closed once.
  const isOwn = places?.length === data?.length && new Set(places?.map(({ node }) => node)).size === data?.length;
  if (places === undefined || !isOwn) {
    throw new HeadgateError("HG_BAD_OPTION", "cursor", "must be the value of next on the previous page");
  }
  return places;
}

/** Recordings can be removed at any time. */
function noneIfGone(error: unknown): readonly never[] {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
  throw error;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
