import type { Stat } from "node-zookeeper-client";
import type { LeaseSnapshot } from "../../algorithms/concurrency/lease-set.ts";
import type { Limit } from "../../limits/limit.ts";
import { IDEMPOTENCY_WINDOW } from "../idempotency-fingerprint.ts";
import { slotAnswer } from "../slot-operations.ts";
import type { Answer } from "../store.ts";
import type { LeaderClock } from "./leader-clock.ts";
import { leasesIn } from "./znode-leases.ts";
import { jsonText } from "./znode-text.ts";
import { unusableZnode } from "./zookeeper-errors.ts";

/** The answers to a request with an idempotency key. */
export interface Answered {
  /** Fingerprint of the request. */
  readonly request: string;
  readonly answers: readonly Answer[];
  /** Until when it is remembered. */
  readonly until: number;
}

/** Contents of a znode: nothing yet, a row of numbers, the leases of slots, or the answers to a request. */
export interface Contents {
  readonly row?: Float64Array;
  readonly leases?: LeaseSnapshot | undefined;
  readonly answered?: Answered;
  /** The path of its tombstone, if it is to be deleted. A process that uses the znode again removes it. */
  readonly tombstone?: string;
  /** When the contents become worthless. */
  readonly expires: number;
}

/** Human-readable details stored next to a row. */
export interface RowSummary {
  readonly limit: Limit;
  readonly remaining: number;
  readonly now: number;
}

/**
 * The text of a row. A write that the leader processes after its caller has given up must not count. ZooKeeper has no
 * such condition, but it timestamps every write. The text therefore states when it becomes void, and how to restore the
 * previous row.
 */
export function rowText(
  row: Float64Array,
  before: ArrayLike<number>,
  expires: number,
  voidFrom: number,
  { limit, remaining, now }: RowSummary,
): Buffer {
  return jsonText({
    limit: limit.limit,
    window: limit.calendar === undefined ? limit.window / 1_000_000 : String(limit.calendar),
    used: limit.burst - remaining,
    remaining,
    at: new Date(now / 1_000).toISOString(),
    row: Array.from(row, written),
    expires_us: expires,
    ...(Number.isFinite(voidFrom) && { void_from_us: voidFrom, undo: undoOf(row, before) }),
  });
}

export function answeredText({ request, answers, until }: Answered, voidFrom: number): Buffer {
  return jsonText({
    request,
    time_us: answers[0]?.time,
    answers: answers.map(({ allowed, remaining, retryAfter, resetAfter, inUse }) => ({
      allowed,
      remaining,
      retry_after_us: written(retryAfter),
      reset_after_us: resetAfter,
      ...(inUse !== undefined && { in_use: inUse }),
    })),
    expires_us: until,
    ...(Number.isFinite(voidFrom) && { void_from_us: voidFrom }),
  });
}

export function tombstoneText(tombstone: string): Buffer {
  return jsonText({ tombstone });
}

/** Parses a znode, as far as its contents count. */
export function contentsOf(path: string, data: Buffer | undefined, stat: Stat, time: LeaderClock): Contents {
  const text = parsed(data);
  // The client treats version 0 as a wildcard, so valid contents never have it.
  if (text === undefined || stat.version === 0)
    throw unusableZnode(path, "was not written by Headgate: use another root for the store");
  const { tombstone, expires_us, void_from_us, request, time_us, answers, row, leases, undo } = text;
  if (typeof tombstone === "string") return { tombstone, expires: Number.NEGATIVE_INFINITY };
  if (typeof expires_us !== "number") throw unusableZnode(path, "has no expiry time");
  const isVoid = typeof void_from_us === "number" && time.isVoid(stat, void_from_us);
  if (leases !== undefined) {
    const snapshot = leasesIn(leases);
    if (snapshot === undefined) throw unusableZnode(path, "does not contain what the store wrote");
    return { leases: isVoid ? leasesIn(undo) : snapshot, expires: expires_us };
  }
  if (typeof request !== "string") {
    const numbers = numbersIn(path, row);
    return { row: isVoid ? undone(numbers, numbersIn(path, undo)) : numbers, expires: expires_us };
  }
  if (isVoid) return { expires: expires_us };
  // Version 0.1 did not store the time of the decision.
  const decidedAt = typeof time_us === "number" ? time_us : expires_us - IDEMPOTENCY_WINDOW;
  const given = listIn(answers).map((each) => answerIn(path, decidedAt, each));
  const answered = { request, answers: given, until: expires_us };
  return { answered, expires: expires_us };
}

function answerIn(path: string, time: number, each: unknown): Answer {
  const { allowed, remaining, retry_after_us, reset_after_us, in_use } = isRecord(each) ? each : {};
  const [left, retryAfter, resetAfter] = numbersIn(path, [remaining, retry_after_us, reset_after_us]);
  const answer: Answer = {
    time,
    allowed: allowed === true,
    remaining: left,
    retryAfter,
    resetAfter,
    source: "store",
    degraded: false,
  };
  return typeof in_use === "number" ? slotAnswer(answer, in_use) : answer;
}

/** The length of the previous row, and the positions and values in which it differed. */
function undoOf(row: Float64Array, before: ArrayLike<number>): (number | string)[] {
  const undo: (number | string)[] = [before.length];
  for (let i = 0; i < before.length; i += 1) if (row[i] !== before[i]) undo.push(i, written(before[i]));
  return undo;
}

function undone(row: Float64Array, [length, ...changes]: Float64Array): Float64Array {
  const before = new Float64Array(length);
  before.set(row.subarray(0, length));
  for (let i = 0; i < changes.length; i += 2) before[changes[i]] = changes[i + 1];
  return before;
}

/** JSON has no infinite numbers. */
function written(value: number): number | string {
  return Number.isFinite(value) ? value : String(value);
}

function numbersIn(path: string, values: unknown): Float64Array {
  const numbers = Float64Array.from(listIn(values), numberOf);
  if (numbers.length === 0 || numbers.some(Number.isNaN))
    throw unusableZnode(path, "does not contain what the store wrote");
  return numbers;
}

function listIn(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function numberOf(value: unknown): number {
  if (value === "Infinity" || value === "-Infinity") return Number(value);
  return typeof value === "number" ? value : Number.NaN;
}

/** The text of a znode as an object, if it is one. */
export function parsed(data: Buffer | undefined): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(data?.toString() ?? "");
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
