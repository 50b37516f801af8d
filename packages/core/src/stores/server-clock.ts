import type { Clock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";

/** Two clocks drift apart by less than this each microsecond. */
const DRIFT = 5e-4;

/**
 * The server's time, as well as it is known here. Each reply tells it: the server read its clock after the call
 * was sent and before the reply came, so the true difference lies between two bounds, and with every reply
 * closer ones. The upper bound is what is told; with what the clocks may have drifted apart since, nothing that is
 * void from some time on is void too early.
 */
export class ServerClock implements Clock {
  private readonly local = new SystemClock();
  private low = Number.NEGATIVE_INFINITY;
  private high = Number.POSITIVE_INFINITY;
  private at = 0;

  /** Whether any reply has come. */
  get isKnown(): boolean {
    return Number.isFinite(this.high);
  }

  /** The server's time; before any reply, this machine's. */
  now(): number {
    return this.isKnown ? Math.ceil(localTime() + this.high) : this.local.now();
  }

  /** By how much the server's clock leads the local one at most, as long as nobody sets it. */
  get mostAhead(): number {
    return Math.ceil(this.high + (localTime() - this.at) * DRIFT);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.local.sleep(ms, signal);
  }

  /** Takes in that the server's clock showed `time`, cut to multiples of `resolution`, between two local times. */
  learn(time: number, sent: number, received: number, resolution = 1): void {
    const slack = (received - this.at) * DRIFT;
    const ahead = { low: time - received, high: time + resolution - 1 - sent };
    const low = Math.max(this.low - slack, ahead.low);
    const high = Math.min(this.high + slack, ahead.high);
    // Bounds that exclude each other: the server's clock was set. Only what it says now counts.
    const isSet = low > high;
    this.low = isSet ? ahead.low : low;
    this.high = isSet ? ahead.high : high;
    this.at = received;
  }
}

/** Microseconds of a clock that nobody sets. */
export function localTime(): number {
  return performance.now() * 1000;
}

/** That clock, for timeouts: they do not keep a process alive, for the connection does that while a call is under way. */
export const localClock: Clock = {
  now: localTime,
  sleep: (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms).unref();
    }),
};
