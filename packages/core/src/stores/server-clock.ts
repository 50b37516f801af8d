import type { Clock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";

/** Maximum drift between two clocks, per microsecond. */
const DRIFT = 5e-4;

/**
 * An estimate of the server's time. The server reads its clock between the moment a call is sent and the moment its
 * reply arrives, so each reply gives a lower and an upper bound of the offset, and the bounds get tighter with every
 * reply. `now` uses the upper bound plus the possible drift since, so that nothing becomes void too early.
 */
export class ServerClock implements Clock {
  private readonly local = new SystemClock();
  private low = Number.NEGATIVE_INFINITY;
  private high = Number.POSITIVE_INFINITY;
  private at = 0;

  /** Whether any reply has arrived. */
  get isKnown(): boolean {
    return Number.isFinite(this.high);
  }

  /** The server's time; before the first reply, the local time. */
  now(): number {
    return this.isKnown ? Math.ceil(localTime() + this.high) : this.local.now();
  }

  /** The maximum lead of the server's clock over the local one, as long as it is not set. */
  get mostAhead(): number {
    return Math.ceil(this.high + (localTime() - this.at) * DRIFT);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.local.sleep(ms, signal);
  }

  /** Records that the server's clock showed `time`, truncated to `resolution`, between two local times. */
  learn(time: number, sent: number, received: number, resolution = 1): void {
    const slack = (received - this.at) * DRIFT;
    const ahead = { low: time - received, high: time + resolution - 1 - sent };
    const low = Math.max(this.low - slack, ahead.low);
    const high = Math.min(this.high + slack, ahead.high);
    // The bounds exclude each other, so the server's clock was set: only the latest reading counts.
    const isSet = low > high;
    this.low = isSet ? ahead.low : low;
    this.high = isSet ? ahead.high : high;
    this.at = received;
  }
}

/** Microseconds of a monotonic clock. */
export function localTime(): number {
  return performance.now() * 1000;
}

/** The local clock for timeouts. They do not keep the process alive; the connection does while a call is pending. */
export const localClock: Clock = {
  now: localTime,
  sleep: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms).unref();
    }),
};
