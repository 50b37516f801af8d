import { type Action, type Limit, limitFromJson, type Source } from "headgate";
import { z } from "zod";

/** The version of the format. Readers reject others. */
export const RECORDING_VERSION = 1;

/** The first line of each segment of a recording. */
export interface RecordingHeader {
  readonly type: "header";
  readonly version: number;
  /** The process that wrote it. */
  readonly node: string;
  /** One in this many identities is recorded. */
  readonly oneIn: number;
  /** When the process began to record, in microseconds since the epoch. */
  readonly time: number;
  /** Set if there were earlier segments, which may have been deleted: their number, and the latest time in them. */
  readonly continues?: { readonly segment: number; readonly after: number };
  /** Set if the process has deleted segments of processes that had ended: the latest time in them. */
  readonly deletedUntil?: number;
}

/** A limit, under a number that later lines of the segment refer to. A changed rule is a new limit. */
export interface RecordedLimit {
  readonly type: "limit";
  readonly number: number;
  readonly rule: string;
  readonly counter: string;
  readonly limit: Limit;
}

/** What the store did: requests, corrections and resets. */
export interface RecordedCall {
  readonly type: "call";
  /** The order of calls in the process that made them: those of one moment are done in this order. */
  readonly number: number;
  /** When the store decided, by its clock, in microseconds since the epoch. */
  readonly time: number;
  readonly action: Action;
  /** Hashed. */
  readonly key: string;
  readonly operations: readonly { readonly limit: number; readonly cost: number }[];
  readonly answers: readonly RecordedAnswer[];
  /** Set if the request was denied for another key, which may not be recorded: nothing was charged. */
  readonly deniedElsewhere?: true;
  /** Hashed, and for how many microseconds the answer is remembered, if not for the usual time. */
  readonly idempotency?: { readonly key: string; readonly rememberFor?: number };
}

/** In units and microseconds. A `retryAfter` of null never ends. */
export interface RecordedAnswer {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfter: number | null;
  readonly resetAfter: number;
}

/** A call that the store did not answer. It may have been done all the same. */
interface RecordedFailure {
  readonly type: "failure";
  readonly time: number;
  readonly key: string;
  readonly code: string;
}

/**
 * A decision that was not made by the store, but from a lease, a cache or a fallback. Under rules that are not strict,
 * also those of the store: its calls cannot be told apart from those that obtain a lease.
 */
interface RecordedOther {
  readonly type: "other";
  readonly time: number;
  readonly key: string;
  readonly rule: string;
  readonly source: Source;
  readonly allowed: boolean;
  readonly cost: number;
  /** Set if the candidate of the rule decided. */
  readonly isCandidate?: true;
}

/** The last line of a segment that is full, or of a recording that was closed. */
interface RecordingEnd {
  readonly type: "end";
  /** Number of entries that were not written to this segment because the disk was too slow. */
  readonly dropped: number;
}

export type RecordingEntry =
  | RecordingHeader
  | RecordedLimit
  | RecordedCall
  | RecordedFailure
  | RecordedOther
  | RecordingEnd;

/** An entry as a line: a list without names, because there are many of them. */
export function entryLine(entry: RecordingEntry): string {
  return `${JSON.stringify(valuesOf(entry))}\n`;
}

function valuesOf(entry: RecordingEntry): readonly unknown[] {
  switch (entry.type) {
    case "header": {
      const { version, node, oneIn, time, continues, deletedUntil } = entry;
      const before = continues === undefined ? null : [continues.segment, continues.after];
      const more = deletedUntil !== undefined ? [before, deletedUntil] : before === null ? [] : [before];
      return ["h", version, node, oneIn, time, ...more];
    }
    case "limit":
      return ["l", entry.number, entry.rule, entry.counter, entry.limit];
    case "call": {
      const { number, time, action, key, operations, answers, idempotency, deniedElsewhere } = entry;
      const asked = operations.map(({ limit, cost }) => [limit, cost]);
      const told = answers.map(({ allowed, remaining, retryAfter, resetAfter }) => {
        return [allowed ? 1 : 0, remaining, retryAfter, resetAfter];
      });
      const once = idempotency === undefined ? null : [idempotency.key, idempotency.rememberFor ?? null];
      const more = deniedElsewhere ? [once, 1] : once === null ? [] : [once];
      return ["c", number, time, action, key, asked, told, ...more];
    }
    case "failure":
      return ["f", entry.time, entry.key, entry.code];
    case "other":
      return [
        "o",
        entry.time,
        entry.key,
        entry.rule,
        entry.source,
        entry.allowed ? 1 : 0,
        entry.cost,
        ...(entry.isCandidate ? [1] : []),
      ];
    case "end":
      return ["e", entry.dropped];
  }
}

const number = z.number();
const text = z.string();
const flag = z.literal([0, 1]).transform((bit) => bit === 1);
const action = z.enum(["take", "peek", "penalize", "refund", "reset", "extend", "release"]);
const limit = z.unknown().transform((value, { addIssue }): Limit => {
  const read = limitFromJson(value);
  if (read !== undefined) return read;
  addIssue("is not a limit");
  return z.NEVER;
});

const header = z.tuple([
  z.literal("h"),
  number,
  text,
  number,
  number,
  z.tuple([number, number]).nullable().optional(),
  number.optional(),
]);
const limitLine = z.tuple([z.literal("l"), number, text, text, limit]);
const call = z.tuple([
  z.literal("c"),
  number,
  number,
  action,
  text,
  z.array(z.tuple([number, number])),
  z.array(z.tuple([flag, number, number.nullable(), number])),
  z.tuple([text, number.nullable()]).nullable().optional(),
  z.literal(1).optional(),
]);
const failure = z.tuple([z.literal("f"), number, text, text]);
const other = z.tuple([
  z.literal("o"),
  number,
  text,
  text,
  z.enum(["store", "lease", "cache", "fallback"]),
  flag,
  number,
  z.literal(1).optional(),
]);
const end = z.tuple([z.literal("e"), number]);

/** Reads a line. Undefined if it is not a line of a recording, such as the last one of a process that was killed. */
export function readEntry(text: string): RecordingEntry | undefined {
  const value = parsed(text);
  // A union would try one form after the other, and there are many lines.
  switch (Array.isArray(value) ? value[0] : undefined) {
    case "h":
      return read(header, value, ([, version, node, oneIn, time, before, deletedUntil]) => {
        const continues = before && { continues: { segment: before[0], after: before[1] } };
        return {
          type: "header",
          version,
          node,
          oneIn,
          time,
          ...continues,
          ...(deletedUntil !== undefined && { deletedUntil }),
        };
      });
    case "l":
      return read(limitLine, value, ([, number, rule, counter, limit]) => {
        return { type: "limit", number, rule, counter, limit };
      });
    case "c":
      return read(call, value, callOf);
    case "f":
      return read(failure, value, ([, time, key, code]) => ({ type: "failure", time, key, code }));
    case "o":
      return read(other, value, otherOf);
    case "e":
      return read(end, value, ([, dropped]) => ({ type: "end", dropped }));
    default:
      return undefined;
  }
}

function read<Form extends z.ZodType>(
  form: Form,
  value: unknown,
  entryOf: (data: z.output<Form>) => RecordingEntry,
): RecordingEntry | undefined {
  const { data } = form.safeParse(value);
  return data === undefined ? undefined : entryOf(data);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function otherOf([, time, key, rule, source, allowed, cost, candidate]: z.output<typeof other>): RecordedOther {
  return { type: "other", time, key, rule, source, allowed, cost, ...(candidate && { isCandidate: true as const }) };
}

function callOf([, number, time, action, key, asked, told, once, elsewhere]: z.output<typeof call>): RecordedCall {
  return {
    type: "call",
    number,
    time,
    action,
    key,
    operations: asked.map(([limit, cost]) => ({ limit, cost })),
    answers: told.map(([allowed, remaining, retryAfter, resetAfter]) => {
      return { allowed, remaining, retryAfter, resetAfter };
    }),
    ...(elsewhere && { deniedElsewhere: true as const }),
    ...(once && { idempotency: { key: once[0], ...(once[1] !== null && { rememberFor: once[1] }) } }),
  };
}
