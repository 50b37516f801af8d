import { smallIntegerReply } from "./resp-reply.ts";
import { type Figures, ThrottleLimit } from "./throttle-limit.ts";

/** A command that takes a limit, as another program defines it: what its arguments mean, and what it replies. */
export interface ThrottleDialect {
  /** The smallest `max_burst`. */
  readonly smallestBurst: number;
  limit(maxBurst: number, count: number, period: number): ThrottleLimit;
  reply(limit: ThrottleLimit, figures: Figures & { readonly allowed: boolean }, quantity: number): string;
}

const NS_PER_SECOND = 1e9;
const NS_PER_MS = 1e6;
const NS_PER_US = 1e3;

/** `CL.THROTTLE` of redis-cell 0.5: limited, limit, remaining, retry_after or -1, reset_after. */
export const redisCell: ThrottleDialect = {
  smallestBurst: 0,

  limit(maxBurst, count, period) {
    const capacity = maxBurst + 1;
    const heads = { allowed: `*5\r\n:0\r\n:${capacity}\r\n`, denied: `*5\r\n:1\r\n:${capacity}\r\n` };
    return new ThrottleLimit({ capacity, count, period }, heads);
  },

  reply(limit, answer, quantity) {
    if (answer.allowed) return limit.allowedReply(answer, cellAllowed);
    const { interval, tolerance, heads } = limit;
    const toFull = limit.timeToFull(answer);
    const remaining = cellRemaining(limit, answer, toFull);
    const reset = cellSeconds(toFull);
    const increment = interval * quantity;
    // A quantity above the capacity never fits.
    const retry = increment <= tolerance ? cellSeconds(toFull + increment - tolerance) : -1;
    return `${heads.denied}${smallIntegerReply(remaining)}${smallIntegerReply(retry)}${smallIntegerReply(reset)}`;
  },
};

function cellAllowed(limit: ThrottleLimit, figures: Figures): string {
  const { heads, replies } = limit;
  const toFull = limit.timeToFull(figures);
  const remaining = cellRemaining(limit, figures, toFull);
  const reset = cellSeconds(toFull);
  return (
    replies.find(remaining, reset) ??
    replies.keep(remaining, reset, `${heads.allowed}:${remaining}\r\n:-1\r\n:${reset}\r\n`)
  );
}

/** redis-cell divides whole microseconds. Intervals below one are divided exactly instead of by zero. */
function cellRemaining({ interval, tolerance }: ThrottleLimit, { remaining }: Figures, toFull: number): number {
  const left = tolerance - toFull;
  if (left <= 0) return 0;
  const each = Math.trunc(interval / NS_PER_US);
  return each === 0 ? Math.floor(remaining) : Math.trunc(Math.trunc(left / NS_PER_US) / each);
}

/** Whole seconds, rounded up from a millisecond on. */
function cellSeconds(nanoseconds: number): number {
  const seconds = Math.trunc(nanoseconds / NS_PER_SECOND);
  return nanoseconds - seconds * NS_PER_SECOND >= NS_PER_MS ? seconds + 1 : seconds;
}

/** `THROTTLE` of throttlecrab 0.4: allowed, limit, remaining, reset_after, retry_after. */
export const throttlecrab: ThrottleDialect = {
  smallestBurst: 1,

  limit(maxBurst, count, period) {
    const heads = { allowed: `*5\r\n:1\r\n:${maxBurst}\r\n`, denied: `*5\r\n:0\r\n:${maxBurst}\r\n` };
    return new ThrottleLimit({ capacity: maxBurst, count, period }, heads);
  },

  reply(limit, answer, quantity) {
    if (answer.allowed) return limit.allowedReply(answer, crabAllowed);
    const { interval, tolerance, heads } = limit;
    const toFull = limit.timeToFull(answer);
    const remaining = crabRemaining(limit, toFull);
    const reset = crabReset(limit, toFull);
    const retry = crabSeconds(toFull + interval * quantity - tolerance);
    return `${heads.denied}${smallIntegerReply(remaining)}${smallIntegerReply(reset)}${smallIntegerReply(retry)}`;
  },
};

function crabAllowed(limit: ThrottleLimit, figures: Figures): string {
  const { heads, replies } = limit;
  const toFull = limit.timeToFull(figures);
  const remaining = crabRemaining(limit, toFull);
  const reset = crabReset(limit, toFull);
  return (
    replies.find(remaining, reset) ??
    replies.keep(remaining, reset, `${heads.allowed}:${remaining}\r\n:${reset}\r\n:0\r\n`)
  );
}

function crabRemaining({ interval, tolerance }: ThrottleLimit, toFull: number): number {
  return Math.max(0, Math.floor((tolerance - toFull) / interval));
}

/** Its buckets count as full only when they could hold nearly twice their capacity. */
function crabReset({ interval, capacity }: ThrottleLimit, toFull: number): number {
  return crabSeconds(toFull + (capacity - 2) * interval);
}

/** Whole seconds, rounded down. */
function crabSeconds(nanoseconds: number): number {
  return Math.max(0, Math.floor(nanoseconds / NS_PER_SECOND));
}
