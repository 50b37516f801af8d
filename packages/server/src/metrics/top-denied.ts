import { DIMENSIONS, type Dimension } from "../rules/rule.ts";
import { type DeniedReport, type DeniedSketch, mergeSketches } from "./denied-report.ts";
import { SpaceSaving } from "./space-saving.ts";

/** A key that was denied often. The true number is between `denied - error` and `denied`. */
export interface DeniedKey {
  readonly dimension: Dimension;
  readonly identifier: string;
  readonly denied: number;
  readonly error: number;
}

const CAPACITY = 1_000;
/** Denials to count together: one at a time, each would find the sketch evicted from the processor's cache. */
const BATCH = 256;
const HOUR_MS = 3_600_000;
const TIMER_SLACK_MS = 1_000;

type Sketches = Readonly<Record<Dimension, SpaceSaving>>;

/** The denials of one hour. */
export interface DeniedPeriod {
  /** Start of the hour, in milliseconds. */
  readonly start: number;
  /** Number of denials counted. */
  readonly total: number;
  /** The keys denied most, up to `limit` of each dimension. */
  report(limit: number): DeniedReport;
}

/** The keys denied most on this node in this hour and the previous one, in bounded memory. */
export class TopDenied {
  private current = new Period(Date.now());
  private last: Period | undefined;
  private readonly waiting: Readonly<Record<Dimension, string[]>> = { user: [], ip: [], apikey: [] };

  add(dimension: Dimension, identifier: string): void {
    const waiting = this.waiting[dimension];
    waiting.push(identifier);
    if (waiting.length >= BATCH) this.count(dimension);
  }

  /** Starts a new hour. Drops everything older than the hour that ends now. */
  rotate(now = Date.now()): void {
    for (const dimension of DIMENSIONS) this.count(dimension);
    this.last = this.current;
    // A timer may fire slightly early, while it is still the previous hour.
    this.current = new Period(Math.max(now + TIMER_SLACK_MS, this.last.start + HOUR_MS));
  }

  /** The previous hour, if there was one, and this one. */
  periods(): readonly DeniedPeriod[] {
    for (const dimension of DIMENSIONS) this.count(dimension);
    return this.last === undefined ? [this.current] : [this.last, this.current];
  }

  top(limit: number): DeniedKey[] {
    return topOf(
      this.periods().map((period) => period.report(CAPACITY)),
      limit,
    );
  }

  private count(dimension: Dimension): void {
    const waiting = this.waiting[dimension];
    for (const identifier of waiting) this.current.sketches[dimension].add(identifier);
    waiting.length = 0;
  }
}

/** The keys denied most in all reports together. */
export function topOf(reports: readonly DeniedReport[], limit: number): DeniedKey[] {
  return DIMENSIONS.flatMap((dimension) =>
    mergeSketches(reports.map((report) => report[dimension])).map((key): DeniedKey => ({ dimension, ...key })),
  )
    .sort((a, b) => b.denied - a.denied)
    .slice(0, limit);
}

export function hourOf(time: number): number {
  return time - (time % HOUR_MS);
}

class Period implements DeniedPeriod {
  readonly start: number;
  readonly sketches: Sketches = {
    user: new SpaceSaving(CAPACITY),
    ip: new SpaceSaving(CAPACITY),
    apikey: new SpaceSaving(CAPACITY),
  };

  constructor(now: number) {
    this.start = hourOf(now);
  }

  get total(): number {
    return DIMENSIONS.reduce((sum, dimension) => sum + this.sketches[dimension].total, 0);
  }

  report(limit: number): DeniedReport {
    const { user, ip, apikey } = this.sketches;
    return { user: sketchOf(user, limit), ip: sketchOf(ip, limit), apikey: sketchOf(apikey, limit) };
  }
}

function sketchOf(sketch: SpaceSaving, limit: number): DeniedSketch {
  // One more than reported: no omitted key was denied more often.
  const most = sketch.top(Math.min(limit + 1, CAPACITY));
  const others = most.length > limit || most.length === CAPACITY ? most[most.length - 1].count : 0;
  const keys = most.slice(0, limit).map(({ key, count, error }) => ({ identifier: key, denied: count, error }));
  return { keys, others };
}
