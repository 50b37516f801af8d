import { algorithmOf } from "../../algorithms/lookup.ts";
import type { Limit } from "../../limits/limit.ts";

/** For several limits of one algorithm: a row that is blank under these two is blank under all. */
interface Extremes {
  slowest: Limit;
  longest: Limit;
}

/**
 * The limits under which rows of a counter may have been written. Keys can have different limits, for example by tier,
 * and a row that is blank under one may not be under another. Limits unused for so long that all of their rows are
 * blank are dropped, so that an abandoned limit does not delay the removal of rows.
 */
export class LimitsInUse {
  private now: Extremes;
  private before: Extremes;
  private since = Number.NEGATIVE_INFINITY;

  constructor(limit: Limit) {
    this.now = { slowest: limit, longest: limit };
    this.before = this.now;
  }

  use(limit: Limit): void {
    const { now } = this;
    if (timeOfUnit(limit) > timeOfUnit(now.slowest)) now.slowest = limit;
    if (limit.window > now.longest.window) now.longest = limit;
  }

  /** Drops limits used longer ago than any row lasts; `latest` is the current limit. */
  forget(time: number, latest: Limit): void {
    const { now, before } = this;
    if (time - this.since < Math.max(lifetime(now), lifetime(before))) return;
    this.before = now;
    this.now = { slowest: latest, longest: latest };
    this.since = time;
  }

  /** When a row becomes blank, whichever limit it was written under. */
  blankFrom(cells: Float64Array, at: number): number {
    const { now, before } = this;
    let from = blankFrom(now.slowest, cells, at);
    // Usually there is only one limit.
    if (before.slowest !== now.slowest) from = Math.max(from, blankFrom(before.slowest, cells, at));
    if (now.longest !== now.slowest) from = Math.max(from, blankFrom(now.longest, cells, at));
    if (before.longest !== before.slowest) from = Math.max(from, blankFrom(before.longest, cells, at));
    return from;
  }
}

function blankFrom(limit: Limit, cells: Float64Array, at: number): number {
  return algorithmOf(limit).blankFrom(limit, cells, at);
}

/** How long a unit takes to return. */
function timeOfUnit({ unit, drain }: Limit): number {
  return unit / drain;
}

/** Time after which a row is blank again, in microseconds: two windows, or the time to drain a full bucket. */
function lifetime({ slowest, longest }: Extremes): number {
  return Math.max(2 * longest.window, 2 * slowest.window, Math.ceil(slowest.capacity / slowest.drain));
}
