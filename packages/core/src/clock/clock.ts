import { HeadgateError, shown } from "../errors.ts";

/** A source of time. */
export interface Clock {
  /** The time in whole microseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds. Rejects with the reason of the signal if it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A clock that returns NaN would admit everything. */
export function requireClock(clock: unknown): asserts clock is Clock {
  const isClock =
    typeof clock === "object" &&
    clock !== null &&
    "now" in clock &&
    typeof clock.now === "function" &&
    "sleep" in clock &&
    typeof clock.sleep === "function";
  const time: unknown = isClock ? (clock as Clock).now() : undefined;
  if (!Number.isSafeInteger(time)) {
    const problem = isClock ? `its now() is ${shown(time)}` : `got ${shown(clock)}`;
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "clock",
      `must have now(), in whole microseconds, and sleep(ms); ${problem}`,
    );
  }
}
