import type { Fraction } from "../fraction.ts";

/** What a model says about a request, exactly; instants are rounded up to the microsecond at which they have passed. */
export interface Expected {
  readonly allowed: boolean;
  readonly remaining: Fraction;
  /** Microseconds, counted from the request's own time; 0 if allowed, "never" if the cost does not fit at all. */
  readonly retryAfter: bigint | "never";
  readonly resetAfter: bigint;
}

/**
 * An algorithm written down as its definition reads, slow and exact. It has nothing in common with
 * the code under test but the limit that both are given.
 */
export interface Model {
  take(now: bigint, cost: bigint): Expected;
}

/** The clock of one key: it never runs back. */
export function laterOf(now: bigint, latest: bigint | undefined): bigint {
  return latest === undefined || now > latest ? now : latest;
}
