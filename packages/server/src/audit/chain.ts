import { createHash } from "node:crypto";
import type { AuditEntry, AuditEvent, ChainBreak } from "./audit.ts";

/** A place in the chain: the entry of this number has this hash. */
export interface Link {
  readonly seq: number;
  readonly hash: string;
}

/** What stands before the first entry. */
export const GENESIS = "0".repeat(64);

/** The entry that an event becomes after the one before it. */
export function chained(event: AuditEvent, previous: Link): AuditEntry {
  const entry = { ...event, seq: previous.seq + 1, previous_hash: previous.hash };
  return { ...entry, hash: hashOf(entry) };
}

/** SHA-256, in hex, of the canonical JSON of all fields of an entry but the hash itself. */
function hashOf({ seq, at, actor_id, actor_name, action, subject, before, after, previous_hash }: Unhashed): string {
  const covered = { seq, at, actor_id, actor_name, action, subject, before, after, previous_hash };
  return createHash("sha256").update(canonicalJson(covered)).digest("hex");
}

type Unhashed = Omit<AuditEntry, "hash">;

/** JSON with the names of every object in order and no white space: the same text for the same value. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(inOrder(JSON.parse(JSON.stringify(value ?? null))));
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== "object" || value === null) return value;
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  // By entries: an assignment to `__proto__` would be lost.
  return Object.fromEntries(sorted.map(([name, inner]) => [name, inOrder(inner)]));
}

/** Walks along a chain from its anchor, entry by entry, and stops at the first that does not fit. */
export class ChainWalk {
  broken: ChainBreak | undefined;
  entries = 0;
  private last: Link;

  constructor(anchor: Link) {
    this.last = anchor;
  }

  get seq(): number {
    return this.last.seq;
  }

  /** Whether it may go on. */
  step(entry: AuditEntry): boolean {
    const expected = this.last.seq + 1;
    if (entry.seq < expected) return this.stop(entry.seq, "the entry was added before the beginning of the chain");
    if (entry.seq > expected) return this.stop(expected, `entry ${expected} is missing: ${entry.seq} comes next`);
    if (entry.hash !== hashOf(entry)) return this.stop(expected, "the entry is not as it was written");
    if (entry.previous_hash !== this.last.hash) {
      return this.stop(expected, "the entry does not continue the one before it: one of them was replaced or moved");
    }
    this.last = entry;
    this.entries += 1;
    return true;
  }

  /** To be called at the end of what there is: the chain must reach its head. */
  end(head: Link): void {
    if (this.broken !== undefined) return;
    if (this.last.seq < head.seq) {
      this.stop(this.last.seq + 1, `the last entries are missing: the chain ended at ${head.seq}`);
    } else if (this.last.hash !== head.hash) {
      this.stop(head.seq, "the last entry is not the one that the chain ended with");
    }
  }

  private stop(seq: number, problem: string): false {
    this.broken = { seq, problem };
    return false;
  }
}
