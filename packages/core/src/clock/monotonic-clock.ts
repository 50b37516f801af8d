import type { Clock } from "./clock.ts";

/** A longer `setTimeout` fires at once. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
/** Found once: as a global it is looked up by a function each time. */
const { performance } = globalThis;
/** By how much the wall clock must lead to be followed, in microseconds. */
const WALL_LEAD = 100_000;

/**
 * Time for deadlines, read anew each time. Nobody's setting of a clock makes it run back or stand still. A machine
 * that slept, whose own count of time stood still, shows in the wall clock, and that is followed forward: a deadline
 * may come early by it, but never late. Its sleep keeps no process alive.
 */
export class MonotonicClock implements Clock {
  private lead = Date.now() * 1000 - performance.now() * 1000;
  private slept = 0;

  now(): number {
    const time = performance.now() * 1000;
    const lead = Date.now() * 1000 - time;
    if (lead > this.lead + WALL_LEAD) {
      this.slept += lead - this.lead;
      this.lead = lead;
    } else if (lead < this.lead) this.lead = lead;
    return Math.floor(time + this.slept);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const wake = (): void => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const timer = setTimeout(wake, Math.min(Math.max(0, Math.ceil(ms)), LONGEST_TIMEOUT_MS));
      timer.unref();
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }
}
