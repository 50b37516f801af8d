import { type FileHandle, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { HeadgateError } from "headgate";
import { z } from "zod";
import type { RateLimitRule } from "../rules/rule.ts";
import { RecordedLimits } from "./recorded-limits.ts";
import { type RecordedCall, type RecordingEntry, readEntry } from "./recording-entry.ts";

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
  /** Hashed. A second request of the key with the same one and the same time is a retry, which is not counted. */
  readonly idempotencyKey?: string;
}

export interface RecordedPage {
  /** Number of processes whose recordings are read. */
  readonly processes: number;
  readonly requests: readonly RecordedRequest[];
  /** Since when the pages up to this one have all requests, in microseconds. Undefined if there is no next page. */
  readonly completeFrom?: number;
  /** The cursor of the next page, with earlier requests. */
  readonly next?: string;
}

export interface RecordedPageQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Recordings of the processes that started last: the workers of a node, and a few starts of it. */
const MOST_RECORDINGS = 32;
/** Few enough lines to be parsed in a few milliseconds. Other work runs before the next block. */
const BLOCK_BYTES = 32 * 1024;
/** How much of the recordings is read for one page, however few requests it has. */
const MOST_BYTES = 4 * 1024 * 1024;
const NEWLINE = 0x0a;

/** How far a recording has been read, from its end. */
interface Place {
  readonly name: string;
  end: number;
  /** The earliest time that was read. */
  time: number;
}

const cursorForm = z
  .array(z.tuple([z.string().regex(/^[\w-]+\.jsonl$/), z.int().min(0), z.number().nullable()]))
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

  async page(
    rule: Pick<RateLimitRule, "rule_id" | "consistency">,
    { limit, cursor }: RecordedPageQuery,
  ): Promise<RecordedPage> {
    const present: readonly string[] = await readdir(this.#folder).catch(noneIfGone);
    const names = present.filter((name) => name.endsWith(".jsonl"));
    // Names begin with the time at which their process started.
    const latest = names.sort().slice(-MOST_RECORDINGS);
    const given = cursor === undefined ? undefined : placesIn(cursor, names);
    const files = new Map<string, FileHandle>();
    try {
      const places: Place[] = given ?? latest.map((name) => ({ name, end: 0, time: Number.POSITIVE_INFINITY }));
      for (const place of places) {
        const file = await open(join(this.#folder, place.name)).catch(noneIfGone);
        if (!("stat" in file)) {
          place.end = 0;
          continue;
        }
        files.set(place.name, file);
        const { size } = await file.stat();
        place.end = given === undefined ? size : Math.min(place.end, size);
        await this.#limitsIn(place.name).readUpTo(file, place.end);
      }
      for (const name of this.#limits.keys()) if (!names.includes(name)) this.#limits.delete(name);
      const requests = await this.#readBack(rule, limit, places, files);
      const left = places.filter(({ end }) => end > 0);
      return {
        processes: Math.max(latest.length, places.length),
        requests,
        ...(left.length > 0 && {
          completeFrom: Math.max(...left.map(({ time }) => time)),
          next: cursorAt(left),
        }),
      };
    } finally {
      for (const file of files.values()) await file.close();
    }
  }

  #limitsIn(name: string): RecordedLimits {
    const known = this.#limits.get(name) ?? new RecordedLimits();
    this.#limits.set(name, known);
    return known;
  }

  /** Reads blocks from the ends of the recordings, always of the one that has been read the least far back. */
  async #readBack(
    rule: Pick<RateLimitRule, "rule_id" | "consistency">,
    limit: number,
    places: readonly Place[],
    files: ReadonlyMap<string, FileHandle>,
  ): Promise<RecordedRequest[]> {
    const found: RecordedRequest[] = [];
    let bytes = 0;
    while (found.length < limit && bytes < MOST_BYTES) {
      const open = places.filter(({ end }) => end > 0);
      if (open.length === 0) break;
      const place = open.reduce((latest, each) => (each.time > latest.time ? each : latest));
      const file = files.get(place.name);
      if (file === undefined) throw new Error(`${place.name} is not open`);
      const before = place.end;
      const limits = this.#limitsIn(place.name);
      await eachLineBack(file, place, (entry) => {
        const request = requestIn(entry, rule, limits);
        if (request !== undefined) found.push(request);
        return found.length < limit;
      });
      bytes += before - place.end;
    }
    return found;
  }
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

/** What an entry says of a request under the rule, if it does. */
function requestIn(
  entry: RecordingEntry,
  { rule_id, consistency }: Pick<RateLimitRule, "rule_id" | "consistency">,
  limits: RecordedLimits,
): RecordedRequest | undefined {
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

function placesIn(cursor: string, names: readonly string[]): Place[] {
  const { data } = cursorForm.safeParse(parsed(Buffer.from(cursor, "base64url").toString()));
  const given = new Set(data?.map(([name]) => name));
  // A recording that is named twice would be opened twice, and closed once.
  if (data === undefined || given.size < data.length || !data.every(([name]) => names.includes(name))) {
    throw new HeadgateError("HG_BAD_OPTION", "cursor", "must be the value of next on the previous page");
  }
  return data.map(([name, end, time]) => ({ name, end, time: time ?? Number.POSITIVE_INFINITY }));
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
