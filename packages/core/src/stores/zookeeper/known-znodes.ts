import { localTime } from "../server-clock.ts";
import type { Contents } from "./znode-contents.ts";

/** A znode as last seen. */
export interface Seen {
  /** Undefined if it does not exist. */
  readonly version: number | undefined;
  readonly contents: Contents;
  /** The local time at which it was requested or written. */
  readonly since: number;
}

/**
 * How long a cached znode is worth using, in microseconds. A version can recur only if a znode is deleted and
 * recreated; the sweeper leaves much more time than this before it deletes one.
 */
const KEPT_FOR = 10_000_000;

const MOST = 10_000;

/** Caches znodes, so that most changes do not need to read them first. */
export class KnownZnodes {
  private readonly seen = new Map<string, Seen>();

  get(path: string): Seen | undefined {
    const seen = this.seen.get(path);
    return seen !== undefined && localTime() - seen.since < KEPT_FOR ? seen : undefined;
  }

  set(path: string, seen: Seen): void {
    // Reinsert, so that the oldest entry comes first.
    this.seen.delete(path);
    this.seen.set(path, seen);
    if (this.seen.size <= MOST) return;
    for (const oldest of this.seen.keys()) {
      this.seen.delete(oldest);
      return;
    }
  }

  forget(path: string): void {
    this.seen.delete(path);
  }

  clear(): void {
    this.seen.clear();
  }
}
