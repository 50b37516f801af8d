import type { Clock } from "../clock/clock.ts";

/** Something with a deadline. */
export interface Timed {
  /** In microseconds. */
  readonly due: number;
  before: Timed | undefined;
  after: Timed | undefined;
  expire(): void;
}

/** A timer that fires this many microseconds late means that this process was blocked. */
const LATE = 2_000;

/**
 * Expires entries at their deadline. All have the same time allowance, so they are ordered by deadline, and one timer
 * for the first of them is enough.
 */
export class Deadlines {
  private readonly clock: Clock;
  /** Time allowance of each entry, in microseconds. */
  private readonly span: number;
  private first: Timed | undefined;
  private last: Timed | undefined;
  private timer: AbortController | undefined;

  constructor(clock: Clock, span: number) {
    this.clock = clock;
    this.span = span;
  }

  add(timed: Timed): void {
    timed.before = this.last;
    if (this.last === undefined) this.first = timed;
    else this.last.after = timed;
    this.last = timed;
    if (this.timer === undefined) this.watch();
  }

  /** Returns whether it was still present: expired entries are not. */
  delete(timed: Timed): boolean {
    const { before, after } = timed;
    if (before === undefined && this.first !== timed) return false;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.last = before;
    else after.before = before;
    timed.before = undefined;
    timed.after = undefined;
    return true;
  }

  /** Expires everything now and stops the timer. */
  end(): void {
    this.timer?.abort();
    this.timer = undefined;
    this.expire(Number.POSITIVE_INFINITY);
  }

  private async watch(): Promise<void> {
    const timer = new AbortController();
    const { signal } = timer;
    this.timer = timer;
    while (this.first !== undefined && !signal.aborted) {
      const { due } = this.first;
      // Never longer than the span: a clock that was set back must not prolong the wait.
      const left = Math.min(due - this.clock.now(), this.span);
      await this.clock.sleep(left / 1000, signal).catch(unlessAborted(signal));
      if (this.clock.now() - due > LATE) await repliesRead();
      // The sleep has ended, so the deadline has passed whatever the clock says.
      if (!signal.aborted) this.expire(Math.max(this.clock.now(), due));
    }
    if (this.timer === timer) this.timer = undefined;
  }

  private expire(now: number): void {
    while (this.first !== undefined && this.first.due <= now) {
      const timed = this.first;
      this.delete(timed);
      timed.expire();
    }
  }
}

function unlessAborted(signal: AbortSignal): (reason: unknown) => void {
  return (reason) => {
    if (!signal.aborted) throw reason;
  };
}

/** The event loop runs timers before I/O: a reply that has already arrived should count. */
function repliesRead(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
