import { type RateAlgorithmName, rateAlgorithms } from "../../../src/algorithms/lookup.ts";
import { bucketedWindow, fixedWindow, type Limit, type Rate } from "../../../src/index.ts";

const SECOND = 1_000_000;

/**
 * Every kind of limit, with what it must say about 10 units each 10 seconds when a key is first used
 * at the very start of a clock-aligned window. Worked out by hand from the definition of each algorithm; microseconds.
 */
export interface Subject {
  readonly name: string;
  readonly make: (rate: Rate) => Limit;
  /** Until full again, 4 units having been taken. */
  readonly resetAfterFour: number;
  /** Until 7 more fit, 4 having been taken. */
  readonly retryAfterSeven: number;
  /** Until 1 more fits, 12 having been taken by a penalty. */
  readonly retryAfterTwelve: number;
}

/** The level drains by one unit a second. */
const drains = { resetAfterFour: 4 * SECOND, retryAfterSeven: 1 * SECOND, retryAfterTwelve: 3 * SECOND };
/** Everything taken at one instant leaves at one instant. */
const leavesAtOnce = { resetAfterFour: 10 * SECOND, retryAfterSeven: 10 * SECOND, retryAfterTwelve: 10 * SECOND };

const fadesInTheNextWindow = {
  resetAfterFour: 20 * SECOND,
  // In the next window 4 fade to 3 when a quarter of it is over; 12 fade to 9 likewise.
  retryAfterSeven: 12.5 * SECOND,
  retryAfterTwelve: 12.5 * SECOND,
};

const expected: Readonly<Record<RateAlgorithmName, Omit<Subject, "name" | "make">>> = {
  token_bucket: drains,
  leaky_bucket: drains,
  gcra: drains,
  fixed_window: leavesAtOnce,
  sliding_window_log: leavesAtOnce,
  sliding_window_counter: fadesInTheNextWindow,
  bucketed_window: leavesAtOnce,
};

export const subjects: readonly Subject[] = [
  ...rateAlgorithms.map(({ name, build }) => ({
    name,
    make: (rate: Rate): Limit => build(rate),
    ...expected[name],
  })),
  { name: "fixed_window by the request", make: (rate) => fixedWindow(rate, { anchor: "request" }), ...leavesAtOnce },
  { name: "bucketed_window of 500 ms", make: (rate) => bucketedWindow(rate, { bucketWidthMs: 500 }), ...leavesAtOnce },
  { name: "bucketed_window, exact", make: (rate) => bucketedWindow(rate, { exact: true }), ...leavesAtOnce },
];

export const TEN_EACH_TEN_SECONDS: Rate = { limit: 10, windowMs: 10_000 };

/** Ten years: nothing to speak of flows back while a test runs, so a store's clock need not stand still. */
const LONG_MS = 3650 * 86_400_000;

export function longRate(limit: number): Rate {
  return { limit, windowMs: LONG_MS };
}

/** Digits to which numbers of a long window are told: a few seconds of ten years are lost in them. */
export const DIGITS = 4;
