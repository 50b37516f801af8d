import type { AlgorithmName } from "../algorithms/registry.ts";
import { HeadgateError, shown } from "../errors.ts";
import type { Calendar } from "./calendar.ts";

/**
 * An algorithm with its parameters. Create one with `tokenBucket`, `fixedWindow` and so on, or with `limitFromSpec`.
 */
export interface Limit<Name extends AlgorithmName = AlgorithmName> {
  readonly algorithm: Name;
  /** Units per window, or slots. */
  readonly limit: number;
  /**
   * Length of the window in microseconds; 0 for concurrency limits. For a calendar, whose windows differ in length, an
   * upper bound.
   */
  readonly window: number;
  /** Units that can be used at once. Equal to the limit unless set. */
  readonly burst: number;
  /** Fixed window: whether windows follow the clock or start with the first admitted request. */
  readonly anchor: Anchor;
  /** Fixed window: the calendar that windows follow, if their length is not fixed. */
  readonly calendar: Calendar | undefined;
  /** Bucketed window: width of a bucket in microseconds; 1 in exact mode. */
  readonly bucketWidth: number;
  /**
   * The rate: `drain` parts flow back each microsecond, and one unit is `unit` parts. Levels are whole
   * numbers of parts. Both are integers, and levels exact, unless a burst has too many parts to count:
   * then parts are coarser, and `drain` is a fraction.
   */
  readonly unit: number;
  readonly drain: number;
  /** 1 / unit: rows are written with a product, which is quicker than a quotient. */
  readonly perPart: number;
  /** The burst in parts. */
  readonly capacity: number;
  /** Whether the burst has too many parts to count exactly. */
  readonly coarse: boolean;
}

/** When the windows of a `fixedWindow` start: at fixed times of the clock, or with the first admitted request. */
export const ANCHORS = ["clock", "request"] as const;
export type Anchor = (typeof ANCHORS)[number];

/** With windows up to this, no time that Headgate computes (two windows from now) leaves the exact integers. */
export const LONGEST_WINDOW = 2 ** 51;

/** Up to this many parts can be stored as units without loss: three roundings, together less than half a part. */
const MOST_PARTS = 2 ** 50;

/** By more than the roundings of a rate and of what it drains together: nothing may pass that the true rate holds back. */
const ROUNDED_DOWN = 1 - 2 ** -50;

export interface LimitFields<Name extends AlgorithmName> {
  readonly algorithm: Name;
  readonly limit: unknown;
  /** In microseconds, from `microseconds()`; undefined if it was not stated. */
  readonly window: number | undefined;
  readonly burst?: unknown;
  readonly anchor?: unknown;
  /** If it is stated, the window is ignored. */
  readonly calendar?: Calendar | undefined;
  /** In microseconds. */
  readonly bucketWidth?: number;
}

/** A field as the user wrote it. */
type Named = (field: string) => string;
const asIs: Named = (field) => field;

/** Builds a limit of `limit` units each `window`. */
export function makeLimit<Name extends AlgorithmName>(fields: LimitFields<Name>, named: Named = asIs): Limit<Name> {
  const { algorithm, limit, burst = limit, anchor = "clock", calendar, bucketWidth = 1 } = fields;
  const window = calendar?.longest ?? fields.window;
  requirePositive(window, named("window"));
  requireUnits(limit, named("limit"));
  requireUnits(burst, named("burst"));
  if (anchor !== "clock" && anchor !== "request") {
    throw new HeadgateError("HG_BAD_LIMIT", named("anchor"), `must be "clock" or "request", got ${shown(anchor)}`);
  }
  if ((burst / limit) * window > LONGEST_WINDOW) {
    throw new HeadgateError(
      "HG_BAD_LIMIT",
      named("burst"),
      "is too large: it would take over 71 years to be full again",
    );
  }
  if (calendar !== undefined && anchor !== "clock") {
    throw new HeadgateError("HG_BAD_LIMIT", named("anchor"), "cannot be combined with a calendar: remove one of them");
  }
  return withRate({ algorithm, limit, window, burst, anchor, calendar, bucketWidth }, BigInt(limit), BigInt(window));
}

/** A bucket stated by what it holds and how fast it fills. The rate is what was meant: 0.1 is one unit in ten seconds. */
export function makeCapacityLimit<Name extends AlgorithmName>(
  algorithm: Name,
  capacity: unknown,
  refillRate: unknown,
  named: Named,
): Limit<Name> {
  requirePositive(capacity, named("capacity"));
  if (capacity > Number.MAX_SAFE_INTEGER) {
    throw new HeadgateError("HG_BAD_LIMIT", named("capacity"), `must be at most 2^53 - 1, got ${shown(capacity)}`);
  }
  requirePositive(refillRate, named("refill_rate"));
  const window = Math.max(1, Math.ceil((capacity / refillRate) * 1_000_000));
  if (window > LONGEST_WINDOW) {
    throw new HeadgateError(
      "HG_BAD_LIMIT",
      named("refill_rate"),
      "is too slow: a full refill would take over 71 years",
    );
  }
  const [tokens, seconds] = simplestFraction(refillRate);
  const fields = {
    limit: capacity,
    window,
    burst: capacity,
    anchor: "clock",
    calendar: undefined,
    bucketWidth: 1,
  } as const;
  return withRate({ algorithm, ...fields }, tokens, seconds * 1_000_000n);
}

/** A limit on units in use at a time, which do not come back with time: it has no window, and nothing drains. */
export function makeSlotLimit<Name extends AlgorithmName>(
  algorithm: Name,
  limit: unknown,
  named: Named = asIs,
): Limit<Name> {
  requireUnits(limit, named("limit"));
  const none = { window: 0, anchor: "clock", calendar: undefined, bucketWidth: 1, drain: 0, coarse: false } as const;
  return Object.freeze({ algorithm, limit, burst: limit, capacity: limit, unit: 1, perPart: 1, ...none });
}

/** The same limit with fewer slots, possibly none. */
export function withSlots<Name extends AlgorithmName>(limit: Limit<Name>, slots: number): Limit<Name> {
  return Object.freeze({ ...limit, limit: slots, burst: slots, capacity: slots });
}

/** The same rate with another burst, not larger than it was. */
export function withBurst<Name extends AlgorithmName>(limit: Limit<Name>, burst: number): Limit<Name> {
  return Object.freeze({ ...limit, burst, capacity: partsOf(burst, limit.unit) });
}

/** What two limits must have in common to count on one counter: all but the units. */
const SHAPE = ["algorithm", "calendar", "window", "anchor", "bucketWidth"] as const;
const FIELDS = ["algorithm", "window", "anchor", "bucketWidth", "limit", "burst", "unit", "drain"] as const;

/** Only a limit that was made here says how it drains; the object that it was read from does not. */
export function isLimit(value: unknown): value is Limit {
  return typeof value === "object" && value !== null && "drain" in value;
}

/** Whether two limits say the same. */
export function sameLimit(a: Limit, b: Limit): boolean {
  return a === b || (a.calendar === b.calendar && FIELDS.every((name) => a[name] === b[name]));
}

/** The field in which two limits differ that could otherwise count on one counter; undefined if there is none. */
export function differingShape(a: Limit, b: Limit): (typeof SHAPE)[number] | undefined {
  return SHAPE.find((name) => a[name] !== b[name]);
}

/** A limit as a text that is the same in every process that states the same limit. */
export function limitText(limit: Limit): string {
  const text = FIELDS.map((name) => limit[name]).join("-");
  return limit.calendar === undefined ? text : `${text}-${limit.calendar.id}`;
}

/** Reads a duration given in seconds or milliseconds into whole microseconds. */
export function microseconds(value: unknown, microsecondsEach: number, field: string): number {
  requirePositive(value, field);
  const duration = Math.round(value * microsecondsEach);
  if (duration < 1 || duration > LONGEST_WINDOW) {
    throw new HeadgateError("HG_BAD_LIMIT", field, `must be from one microsecond to 71 years, got ${shown(value)}`);
  }
  return duration;
}

function requireUnits(value: unknown, field: string): asserts value is number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1) {
    throw new HeadgateError("HG_BAD_LIMIT", field, `must be a whole number from 1 to 2^53 - 1, got ${shown(value)}`);
  }
}

function requirePositive(value: unknown, field: string): asserts value is number {
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0) {
    throw new HeadgateError("HG_BAD_LIMIT", field, `must be a number greater than 0, got ${shown(value)}`);
  }
}

type Unrated<Name extends AlgorithmName> = Omit<Limit<Name>, "unit" | "drain" | "perPart" | "capacity" | "coarse"> & {
  algorithm: Name;
};

function withRate<Name extends AlgorithmName>(limit: Unrated<Name>, units: bigint, microseconds: bigint): Limit<Name> {
  const common = greatestCommonDivisor(units, microseconds);
  let unit = Number(microseconds / common);
  let drain = Number(units / common);
  const coarse = limit.burst * unit > MOST_PARTS;
  if (coarse && unit > 1) {
    unit = Math.max(1, Math.floor(MOST_PARTS / limit.burst));
    drain = ((unit * Number(units)) / Number(microseconds)) * ROUNDED_DOWN;
  }
  return Object.freeze({ ...limit, unit, drain, perPart: 1 / unit, capacity: partsOf(limit.burst, unit), coarse });
}

/** A product that is not off by a digit when `burst` has decimals: 4.35 × 100 is 435. */
function partsOf(burst: number, unit: number): number {
  const [units, each] = decimalFraction(burst);
  return Number(units * BigInt(unit)) / Number(each);
}

/**
 * The simplest fraction that is this very double: 0.1 is 1 / 10 and not what binary makes of it, and
 * 1.6666666666666667 (a hundred each minute) is 5 / 3. It is found among the convergents of the decimal.
 */
function simplestFraction(value: number): [bigint, bigint] {
  let [n, d] = decimalFraction(value);
  let [before, last]: [bigint, bigint][] = [
    [0n, 1n],
    [1n, 0n],
  ];
  while (d !== 0n && Number(last[0]) / Number(last[1]) !== value) {
    const times = n / d;
    [before, last] = [last, [before[0] + times * last[0], before[1] + times * last[1]]];
    [n, d] = [d, n % d];
  }
  return last;
}

/** The decimal that a double is written as, as a fraction: 0.25 is 25 / 100. */
function decimalFraction(value: number): [bigint, bigint] {
  const [mantissa = "", exponent = "0"] = value.toString().split("e");
  const [whole = "", decimals = ""] = mantissa.split(".");
  const shift = Number(exponent) - decimals.length;
  const digits = BigInt(whole + decimals);
  return shift >= 0 ? [digits * 10n ** BigInt(shift), 1n] : [digits, 10n ** BigInt(-shift)];
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  return b === 0n ? a : greatestCommonDivisor(b, a % b);
}
