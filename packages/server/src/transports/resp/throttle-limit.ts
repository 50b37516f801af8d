import { type Answer, type Limit, tokenBucket } from "headgate";
import { RecentReplies } from "./recent-replies.ts";

/** A limit as commands state it: so many units at once, and `count` more in each `period` of seconds. */
export interface StatedLimit {
  readonly capacity: number;
  readonly count: number;
  readonly period: number;
}

/** What is available after a decision, and the time until everything is. */
export type Figures = Pick<Answer, "remaining" | "resetAfter">;

const NS_PER_SECOND = 1e9;
const NS_PER_US = 1_000;
/** The longest window of the core, in microseconds. */
const LONGEST_WINDOW = 2 ** 51;

/**
 * A limit that was sent with a command, with the figures that answers are derived from. redis-cell and throttlecrab
 * count in nanoseconds: one unit returns each interval, rounded down to a whole nanosecond.
 */
export class ThrottleLimit {
  readonly limit: Limit;
  readonly capacity: number;
  /** The time in which one unit returns, in nanoseconds. */
  readonly interval: number;
  /** The time in which all units return. */
  readonly tolerance: number;
  /** What an answer to it begins with, by whether the request was allowed. */
  readonly heads: { readonly allowed: string; readonly denied: string };
  /** Replies to requests that were allowed. */
  readonly replies = new RecentReplies();
  /** The last of them, and its figures: those of keys that had used nothing are all alike. */
  private lastRemaining = -1;
  private lastReset = 0;
  private lastReply = "";

  constructor({ capacity, count, period }: StatedLimit, heads: ThrottleLimit["heads"]) {
    this.capacity = capacity;
    this.interval = Math.floor((period * NS_PER_SECOND) / count);
    this.tolerance = this.interval * capacity;
    this.heads = heads;
    this.limit = limitOf(this.interval, capacity);
  }

  /** The reply to a request that was allowed; it depends on the figures alone. */
  allowedReply(figures: Figures, make: (limit: ThrottleLimit, figures: Figures) => string): string {
    const { remaining, resetAfter } = figures;
    if (remaining !== this.lastRemaining || resetAfter !== this.lastReset) {
      this.lastReply = make(this, figures);
      this.lastRemaining = remaining;
      this.lastReset = resetAfter;
    }
    return this.lastReply;
  }

  /** How long until all units are available again, in nanoseconds. */
  timeToFull({ remaining, resetAfter }: Figures): number {
    const { capacity, unit, drain } = this.limit;
    // More may be in use than the capacity, if that was lowered: then `remaining` does not tell how much.
    if (remaining === 0 && resetAfter > Math.ceil(capacity / drain)) return resetAfter * NS_PER_US;
    return Math.round(((capacity - Math.round(remaining * unit)) * NS_PER_US) / drain);
  }
}

/** A thousand units in as many microseconds as the interval has nanoseconds, which is exact. */
function limitOf(interval: number, burst: number): Limit {
  const common = greatestCommonDivisor(NS_PER_US, interval);
  const isLong = interval / common > LONGEST_WINDOW;
  const units = isLong ? 1 : NS_PER_US / common;
  const window = isLong ? Math.floor(interval / NS_PER_US) : interval / common;
  // Unlike GCRA, a token bucket reports fractions of units, which tell when the next one returns.
  return tokenBucket({ limit: units, windowMs: window / 1_000 }, { burst });
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
