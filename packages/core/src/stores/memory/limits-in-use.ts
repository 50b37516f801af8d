import { algorithmOf } from "../../algorithms/lookup.ts";
import type { Limit } from "../../limits/limit.ts";

/** Of some limits of one algorithm: a row that is blank under these two is blank under all. */
interface Extremes {
  slowest: Limit;
  longest: Limit;
}

/**
 * The limits under which the rows of a counter may have been written. Its keys can have different ones, as
 * users of different tiers have, and a row that is blank under one limit may not be under another. What was not
 * used for so long that all its rows are blank is forgotten, so that a limit given up for good holds nothing up.
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

  /** Forgets what was used longer ago than any row lasts; `latest` is the limit in use now. */
  forget(time: number, latest: Limit): void {
    const { now, before } = this;
    if (time - this.since < Math.max(lifetime(now), lifetime(before))) return;
    this.before = now;
    this.now = { slowest: latest, longest: latest };
    this.since = time;
  }

  /** From when on a row is blank, whichever of the limits it was written under. */
  blankFrom(cells: Float64Array, at: number): number {
    const { now, before } = this;
    let from = blankFrom(now.slowest, cells, at);
    // Mostly there is but one limit.
    if (before.slowest !== now.slowest) from = Math.max(from, blankFrom(before.slowest, cells, at));
    if (now.longest !== now.slowest) from = Math.max(from, blankFrom(now.longest, cells, at));
    if (before.longest !== before.slowest) from = Math.max(from, blankFrom(before.longest, cells, at));
    return from;
  }
}

function blankFrom(limit: Limit, cells: Float64Array, at: number): number {
  return algorithmOf(limit).blankFrom(limit, cells, at);
}

/** How long a unit takes to flow back. */
function timeOfUnit({ unit, drain }: Limit): number {
  return unit / drain;
}

/** After so long a row is blank again, in microseconds: two windows, or the time in which a full bucket drains. */
function lifetime({ slowest, longest }: Extremes): number {
  return Math.max(2 * longest.window, 2 * slowest.window, Math.ceil(slowest.capacity / slowest.drain));
}
