import { setTimeout as delay } from "node:timers/promises";
import { localTime } from "../server-clock.ts";

/** How long after a conflict further ones are expected, in microseconds. */
const EXPECTED_FOR = 500_000;
/** Maximum back-off, in milliseconds: about two round trips. */
const STAND_BACK_MS = 2;
/** How long a cached shared znode is considered current, in microseconds. */
const FRESH = 20_000;
const MOST = 10_000;

/**
 * Znodes on which this process has had conflicts. The winner of a conflict knows the new version, and would keep
 * winning against processes that have to read it first, so it backs off briefly each time. A process that returns to
 * such a znode later reads it first, which costs less than a failed write.
 */
export class ContendedZnodes {
  /** Number of conflicts. */
  conflicts = 0;
  private readonly until = new Map<string, number>();

  add(paths: Iterable<string>): void {
    this.conflicts += 1;
    if (this.until.size > MOST) this.until.clear();
    for (const path of paths) this.until.set(path, localTime() + EXPECTED_FOR);
  }

  /** There has been no conflict for a while. */
  leave(path: string): void {
    this.until.delete(path);
  }

  /** Whether a cached znode is most likely out of date. */
  isStale(path: string, seenAt: number): boolean {
    return this.until.has(path) && localTime() - seenAt > FRESH;
  }

  async yield([path]: readonly string[]): Promise<void> {
    const until = this.until.get(path);
    if (until !== undefined && localTime() < until) await delay(Math.random() * STAND_BACK_MS);
  }
}
