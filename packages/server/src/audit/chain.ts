import { createHash } from "node:crypto";
import type { AuditEntry, AuditEvent, ChainBreak } from "./audit.ts";
import { purgedToIn } from "./purge-record.ts";

/** A position in the chain: the entry with this number has this hash. */
export interface Link {
  readonly seq: number;
  readonly hash: string;
}

/** The hash before the first entry. */
export const GENESIS = "0".repeat(64);

/** The entry for an event, chained to the previous one. */
export function chained(event: AuditEvent, previous: Link): AuditEntry {
  const entry = { ...event, seq: previous.seq + 1, previous_hash: previous.hash };
  return { ...entry, hash: hashOf(entry) };
}

/** SHA-256, in hex, of the canonical JSON of all fields of an entry except the hash itself. */
function hashOf({ seq, at, actor_id, actor_name, action, subject, before, after, previous_hash }: Unhashed): string {
  const covered = { seq, at, actor_id, actor_name, action, subject, before, after, previous_hash };
  return createHash("sha256").update(canonicalJson(covered)).digest("hex");
}

type Unhashed = Omit<AuditEntry, "hash">;

/** JSON with sorted names and without white space: equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inOrder(JSON.parse(JSON.stringify(value ?? null))));
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // By entries: assigning to `__proto__` would lose the value.
  return Object.fromEntries(sorted.map(([name, inner]) => [name, inOrder(inner)]));
}

/** A rewritten chain breaks at every entry, so only this many breaks are kept. */
const MOST_BREAKS = 100;

/**
 * Verifies a chain entry by entry, starting from its anchor. It does not stop at a break: the next entry is compared
 * with the hash stored in the one before it, so that every modified entry is found.
 *
 * `expected` is a head that was recorded earlier, outside the database.
 */
export class ChainWalk {
  /** The first breaks, in order. */
  readonly breaks: ChainBreak[] = [];
  /** Number of all breaks. */
  breakCount = 0;
  /** Number of unmodified entries. */
  entries = 0;
  private readonly anchor: Link;
  private readonly expected: Link | undefined;
  private last: Link;
  private purgedTo: Link = { seq: 0, hash: GENESIS };

  constructor(anchor: Link, expected?: Link) {
    this.anchor = anchor;
    this.last = anchor;
    this.expected = expected;
  }

  /** Number of the last entry verified so far. */
  get seq(): number {
    return this.last.seq;
  }

  step(entry: AuditEntry): void {
    const next = this.last.seq + 1;
    if (entry.seq < next) {
      this.break(entry.seq, "the entry was added: the chain has no place for this number");
      return;
    }
    const isNext = entry.seq === next;
    if (!isNext) this.break(next, `${numbered(next, entry.seq - 1)} missing`);
    const problem = problemOf(entry, isNext ? this.last.hash : undefined);
    if (problem !== undefined) {
      this.break(entry.seq, problem);
    } else {
      this.entries += 1;
      this.purgedTo = purgedToIn(entry) ?? this.purgedTo;
    }
    if (entry.seq === this.expected?.seq && entry.hash !== this.expected.hash) {
      this.break(entry.seq, "the entry does not have the expected hash: the chain was rewritten up to here");
    }
    this.last = entry;
  }

  /**
   * Called after the last stored entry: the chain must reach its head, start where it was purged, and contain
   * `expected`.
   */
  end(head: Link): void {
    if (this.last.seq < head.seq) {
      this.break(this.last.seq + 1, `${numbered(this.last.seq + 1, head.seq)} missing at the end of the chain`);
    } else if (this.last.hash !== head.hash) {
      this.break(head.seq, "the last entry is not the recorded head of the chain");
    }
    this.checkBeginning();
    this.checkExpected(head);
  }

  /** Entries removed by a purge are recorded in the chain; entries removed in another way are not. */
  private checkBeginning(): void {
    const { anchor, purgedTo } = this;
    if (anchor.seq > purgedTo.seq) {
      this.break(
        purgedTo.seq + 1,
        `${numbered(purgedTo.seq + 1, anchor.seq)} missing at the beginning of the chain, and no recorded purge removed that many`,
      );
    } else if (anchor.seq === purgedTo.seq && anchor.hash !== purgedTo.hash) {
      this.break(anchor.seq, "the recorded beginning of the chain does not match the last purge");
    }
  }

  private checkExpected(head: Link): void {
    const { expected, anchor } = this;
    if (expected === undefined) return;
    if (expected.seq > head.seq) {
      this.break(expected.seq, `the expected entry is missing: the chain ends at entry ${head.seq}`);
    } else if (expected.seq < anchor.seq) {
      this.break(expected.seq, `the expected entry is missing: the chain begins after entry ${anchor.seq}`);
    } else if (expected.seq === anchor.seq && expected.hash !== anchor.hash) {
      this.break(expected.seq, "the chain does not continue the expected entry: its beginning was replaced");
    }
  }

  private break(seq: number, problem: string): void {
    this.breakCount += 1;
    if (this.breaks.length < MOST_BREAKS) this.breaks.push({ seq, problem });
  }
}

/** `previousHash` is absent if the entry before this one is missing. */
function problemOf(entry: AuditEntry, previousHash: string | undefined): string | undefined {
  if (entry.unreadable !== undefined) return `the entry cannot be read: ${entry.unreadable}`;
  if (entry.hash !== hashOf(entry)) return "the entry was changed after it was written";
  if (previousHash === undefined || entry.previous_hash === previousHash) return undefined;
  return "the entry does not follow from the one before it: one of them was replaced or moved";
}

function numbered(first: number, last: number): string {
  return first === last ? `entry ${first} is` : `entries ${first} to ${last} are`;
}
