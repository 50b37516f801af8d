import { setTimeout as delay } from "node:timers/promises";
import { localTime } from "../server-clock.ts";

/** How long after a conflict others are still expected at a znode, in microseconds. */
const EXPECTED_FOR = 500_000;
/** How long to stand back, at the most, in milliseconds: two round trips or so. */
const STAND_BACK_MS = 2;
/** What was seen of a shared znode is believed for so long, in microseconds: longer, and another has changed it. */
const FRESH = 20_000;
const MOST = 10_000;

/**
 * The znodes at which this process has met others. Whoever was quicker knows the new version, and would be quicker
 * again and again than those who have to read it first: so it stands back for a moment each time. Who comes back to
 * one later reads it first, for that costs less than a write in vain.
 */
export class ContendedZnodes {
  /** How often another was quicker. */
  conflicts = 0;
  private readonly until = new Map<string, number>();

  add(paths: Iterable<string>): void {
    this.conflicts += 1;
    if (this.until.size > MOST) this.until.clear();
    for (const path of paths) this.until.set(path, localTime() + EXPECTED_FOR);
  }

  /** Nobody else has been there for a while. */
  leave(path: string): void {
    this.until.delete(path);
  }

  /** Whether what was seen then is most likely out of date. */
  isStale(path: string, seenAt: number): boolean {
    return this.until.has(path) && localTime() - seenAt > FRESH;
  }

  async yield([path]: readonly string[]): Promise<void> {
    const until = this.until.get(path);
    if (until !== undefined && localTime() < until) await delay(Math.random() * STAND_BACK_MS);
  }
}
