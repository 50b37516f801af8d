import type { Clock } from "./clock.ts";

/** A longer `setTimeout` fires immediately. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;
/** Cached, because reading the global calls a getter each time. */
const { performance } = globalThis;
/** How far ahead the wall clock must be before it is followed, in microseconds. */
const WALL_LEAD = 100_000;

/**
 * Clock for deadlines. Changing the system time cannot make it run backwards or stop. After the machine was suspended,
 * it follows the wall clock forward, so a deadline may expire early but never late. Its `sleep` does not keep the
 * process alive.
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
