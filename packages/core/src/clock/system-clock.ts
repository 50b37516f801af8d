import type { Clock } from "./clock.ts";

/** Maximum number of times one reading is reused. */
const MOST_USES = 64;
/** Readings are reused only while that many uses take no longer than this, in microseconds. */
const REUSE_SPAN = 50;
/**
 * This many readings within a few microseconds come from a tight loop and not from separate requests, so that
 * `MOST_USES` more of them fit into `REUSE_SPAN`.
 */
const READS_TO_CALL_IT_A_LOOP = 8;
const LOOP_SPAN = 5;
/** How often the wall clock is read, and how far ahead it must be before it is followed, in microseconds. */
const WALL_INTERVAL = 1_000_000;
const WALL_LEAD = 100_000;

/** A longer `setTimeout` fires immediately. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/**
 * The default clock. It is monotonic: it follows the wall clock forward (also after the machine was suspended), but not
 * back, so a clock that is set back neither creates nor withholds quota. In a tight synchronous loop, the time is read
 * once per up to 64 checks.
 */
export class SystemClock implements Clock {
  private time = 0;
  private usesLeft = 0;
  private quickReads = 0;
  private quickSince = 0;
  private offset = Math.round(performance.timeOrigin * 1000);
  private wallDue = 0;

  now(): number {
    if (this.usesLeft > 0) {
      this.usesLeft -= 1;
      return this.time;
    }
    return this.read();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    const end = performance.now() + ms;
    // A timer may fire slightly early, and its maximum is about 24 days.
    for (let left = ms; left > 0; left = end - performance.now()) {
      await timeout(Math.min(Math.ceil(left), LONGEST_TIMEOUT_MS), signal);
    }
  }

  private read(): number {
    const time = this.offset + Math.floor(performance.now() * 1000);
    const elapsed = time - this.time;
    this.time = time;
    if (time >= this.wallDue) return this.followWall(time);
    if (this.quickReads >= READS_TO_CALL_IT_A_LOOP) {
      if (elapsed <= REUSE_SPAN) this.usesLeft = MOST_USES - 1;
      else this.quickReads = 0;
    } else if (time - this.quickSince > LOOP_SPAN) {
      this.quickReads = 0;
      this.quickSince = time;
    } else if (++this.quickReads === READS_TO_CALL_IT_A_LOOP) {
      queueMicrotask(this.endOfRun);
    }
    return time;
  }

  private readonly endOfRun = (): void => {
    this.usesLeft = 0;
    this.quickReads = 0;
  };

  private followWall(time: number): number {
    const lead = Date.now() * 1000 - time;
    if (lead > WALL_LEAD) {
      this.offset += lead;
      this.time = time + lead;
    }
    this.wallDue = this.time + WALL_INTERVAL;
    return this.time;
  }
}

function timeout(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
