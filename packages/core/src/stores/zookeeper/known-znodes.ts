import { localTime } from "../server-clock.ts";
import type { Contents } from "./znode-contents.ts";

/** A znode as it was when it was last seen. */
export interface Seen {
  /** Undefined where there is none. */
  readonly version: number | undefined;
  readonly contents: Contents;
  /** The local time at which it was asked for, or written. */
  readonly since: number;
}

/**
 * How long what was seen is worth trying, in microseconds. A version comes again only when a znode was deleted and
 * made anew; the sweeper leaves much more time than this between a znode's last version and its end.
 */
const KEPT_FOR = 10_000_000;

const MOST = 10_000;

/** What this process last saw of each znode, so that most changes need not read it first. */
export class KnownZnodes {
  private readonly seen = new Map<string, Seen>();

  get(path: string): Seen | undefined {
    const seen = this.seen.get(path);
    return seen !== undefined && localTime() - seen.since < KEPT_FOR ? seen : undefined;
  }

  set(path: string, seen: Seen): void {
    // The one that was seen longest ago stands first.
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
