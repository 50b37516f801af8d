import type { Clock } from "../clock/clock.ts";
import { HeadgateError, shown } from "../errors.ts";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** A clock that moves only when it is advanced or set. */
export class ManualClock implements Clock {
  private time: number;
  private sleepers: Sleeper[] = [];

  /** Starts at `ms` milliseconds since the epoch, by default 0. */
  constructor(ms = 0) {
    this.time = timeFromMilliseconds(ms);
  }

  /** The time in microseconds since the epoch. */
  now(): number {
    return this.time;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (!(ms > 0)) return resolve();
      const onAbort = (): void => {
        this.sleepers = this.sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const sleeper = { until: this.time + microsecondsOf(ms), wake };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.sleepers.push(sleeper);
    });
  }

  /** Sets the time, forward or back. Does not end pending waits. */
  set(ms: number): void {
    this.time = timeFromMilliseconds(ms);
  }

  /**
   * Moves time forward. Each wait ends at its exact time, in order, and code that waited for it runs before time moves
   * on.
   */
  async advance(ms: number): Promise<void> {
    const end = this.time + timeFromMilliseconds(ms);
    await settled();
    for (let next = this.next(end); next !== undefined; next = this.next(end)) {
      this.time = Math.max(this.time, next.until);
      this.sleepers = this.sleepers.filter((other) => other !== next);
      next.wake();
      await settled();
    }
    this.time = end;
  }

  private next(end: number): Sleeper | undefined {
    const due = this.sleepers.filter((sleeper) => sleeper.until <= end);
    return due.reduce<Sleeper | undefined>(
      (first, other) => (first === undefined || other.until < first.until ? other : first),
      undefined,
    );
  }
}

function timeFromMilliseconds(ms: unknown): number {
  const time = typeof ms === "number" ? Math.round(ms * 1000) : Number.NaN;
  if (Number.isSafeInteger(time)) return time;
  throw new HeadgateError("HG_BAD_TIME", "ms", `must be a number of milliseconds, got ${shown(ms)}`);
}

/** Rounds up to whole microseconds, but ignores floating-point error: 16.1 ms is 16100 µs, not 16101. */
function microsecondsOf(ms: number): number {
  return Math.ceil(Number((ms * 1000).toFixed(3)));
}

/** Resolves after everything that is ready has run: promises settle before the next macrotask. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
