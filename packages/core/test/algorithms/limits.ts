import * as fc from "fast-check";
import { rateAlgorithms } from "../../src/algorithms/lookup.ts";
import { type AlgorithmName, algorithms } from "../../src/algorithms/registry.ts";
import { CALENDAR_UNITS, calendarOf } from "../../src/limits/calendar.ts";
import type { Anchor, Limit } from "../../src/limits/limit.ts";
import { makeLimit } from "../../src/limits/limit.ts";
import { limitFromSpec } from "../../src/limits/spec.ts";

const SECOND = 1_000_000;
const MINUTE = 60 * SECOND;
const DAY = 1_440 * MINUTE;
const MOST_UNITS = 2 ** 53 - 1;

interface Rate {
  readonly limit: number;
  readonly window: number;
}

const everyday = fc.constantFrom<Rate>(
  { limit: 1, window: SECOND },
  { limit: 3, window: SECOND },
  { limit: 10, window: SECOND },
  { limit: 2_000, window: SECOND },
  { limit: 5, window: MINUTE },
  { limit: 100, window: MINUTE },
  { limit: 7, window: 1_000_003 },
  { limit: 5, window: 15 * MINUTE },
  { limit: 1_000, window: DAY },
  { limit: 300, window: 30 * DAY },
);

/** So short that random times meet every boundary. */
const tiny = fc.record({ limit: fc.integer({ min: 1, max: 12 }), window: fc.integer({ min: 1, max: 60 }) });

const ordinary = fc.record({
  limit: fc.integer({ min: 1, max: 1_000 }),
  window: fc.oneof(fc.integer({ min: 1, max: MINUTE }), fc.integer({ min: 1, max: 30 * DAY })),
});

const vast = fc.record({
  limit: fc.integer({ min: MOST_UNITS - 5, max: MOST_UNITS }),
  window: fc.oneof(fc.constant(SECOND), fc.integer({ min: 1, max: 30 * DAY })),
});

/** Vast, with a rate that is a whole number of units each microsecond. */
const vastAndEven = fc
  .record({ each: fc.integer({ min: 1, max: 1_000 }), window: fc.integer({ min: 1, max: 30 * DAY }) })
  .map(({ each, window }) => ({ limit: each * window, window }));

const modestRates = fc.oneof({ weight: 3, arbitrary: everyday }, { weight: 3, arbitrary: tiny }, ordinary);
const anyRates = fc.oneof({ weight: 8, arbitrary: modestRates }, vast, vastAndEven);

/** The burst against the limit: the same, 1, or a share of it. */
const bursts = fc.oneof(fc.constant(1), fc.constant(0), fc.double({ min: 0, max: 4, noNaN: true }));

function burstOf(limit: number, share: number): number {
  return Math.max(1, Math.min(MOST_UNITS, Math.round(limit * share)));
}

/**
 * A level is counted in parts, of which a double holds 2^50 so that they can be stored as units and
 * read back. Where a burst would have more (a prime number of units, as large as a month has
 * microseconds) parts are made coarser and do not divide evenly: such a limit keeps every law, and its
 * bound, but meets the model's instants only to within a part.
 */
export function isExact({ limit, window, unit, drain }: Limit): boolean {
  if (!Number.isInteger(limit) || !Number.isInteger(drain)) return false;
  return BigInt(limit) * BigInt(unit) === BigInt(drain) * BigInt(window);
}

/** What a burst may take at most to be full again, in microseconds. */
const LONGEST_REFILL = 2 ** 51;

/** Limits of the kind that has a burst. */
export function meterLimits(algorithm: AlgorithmName, rates = anyRates): fc.Arbitrary<Limit> {
  return fc
    .tuple(rates, bursts)
    .map(([rate, share]) => ({ algorithm, ...rate, burst: burstOf(rate.limit, share) }))
    .filter(({ limit, window, burst }) => (burst / limit) * window < LONGEST_REFILL)
    .map((fields) => makeLimit(fields));
}

/** So many units, and so oddly many, that they cannot be counted in exact parts: these limits have a meter of their own. */
export const coarseLimits: fc.Arbitrary<Limit> = fc
  .record({ exponent: fc.double({ min: 44, max: 53, noNaN: true }), window: fc.integer({ min: 1, max: 30 * DAY }) })
  .map(({ exponent, window }) => {
    const limit = Math.min(MOST_UNITS, Math.floor(2 ** exponent));
    return makeLimit({ algorithm: "token_bucket", limit, window });
  })
  .filter(({ coarse, drain }) => coarse && !Number.isInteger(drain));

export interface CapacitySpec {
  readonly capacity: number;
  readonly refill_rate: number;
}

/** Token buckets as capacity and refill rate, in the decimals that people write. */
export const shortDecimals: fc.Arbitrary<CapacitySpec> = fc.record({
  capacity: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constantFrom(0.5, 1.1, 4.35, 2.5, 1_000.25)),
  refill_rate: fc.constantFrom(1, 0.1, 0.2, 0.3, 0.7, 2.5, 3, 10_000, 1_000_000, 0.001, 1.67, 33.333),
});

/** ... and in those that a computer writes: a hundred each minute is 1.6666666666666667 each second. */
const longDecimals: fc.Arbitrary<CapacitySpec> = fc.record({
  capacity: fc.integer({ min: 1, max: 1_000 }),
  refill_rate: fc.oneof(
    fc.constantFrom(100 / 60, 1 / 3, 1_000 / 3_600, 1_000 / 60, 2 / 3),
    fc.double({ min: 0.001, max: 10_000, noNaN: true }),
  ),
});

const capacityLimits = fc.oneof(shortDecimals, longDecimals).map((spec) => limitFromSpec(spec));

/** Limits of the kind that has a window and nothing else. */
export function windowLimits(algorithm: AlgorithmName, anchor?: Anchor, rates = anyRates): fc.Arbitrary<Limit> {
  return rates.map((rate) => makeLimit({ algorithm, ...rate, anchor }));
}

/** Zones with odd offsets, changes at midnight and just after it, and one that has skipped a day. */
const ODD_ZONES = [
  "UTC",
  "Europe/Berlin",
  "America/Sao_Paulo",
  "America/Havana",
  "America/St_Johns",
  "Asia/Kathmandu",
  "Africa/Cairo",
  "Australia/Lord_Howe",
  "Pacific/Apia",
  "Pacific/Chatham",
];

/** Fixed windows that follow a calendar. */
export function calendarLimits(rates = anyRates): fc.Arbitrary<Limit> {
  const calendars = fc
    .tuple(fc.constantFrom(...CALENDAR_UNITS), fc.constantFrom(...ODD_ZONES), fc.constantFrom(1, 1, 15, 28, 29, 30, 31))
    .map(([unit, zone, day]) => calendarOf(unit, zone, unit === "month" ? day : 1));
  return fc
    .tuple(rates, calendars)
    .map(([{ limit, window }, calendar]) => makeLimit({ algorithm: "fixed_window", limit, window, calendar }));
}

/** Bucketed windows; a width need not divide its window. */
export function bucketedLimits(rates = anyRates): fc.Arbitrary<Limit> {
  const shares = fc.oneof(fc.constantFrom(0.1, 0.01, 1), fc.double({ min: 0.01, max: 1, noNaN: true }));
  return fc.tuple(rates, shares).map(([rate, share]) => {
    const bucketWidth = Math.max(1, Math.floor(rate.window * share));
    return makeLimit({ algorithm: "bucketed_window", ...rate, bucketWidth });
  });
}

function exactBuckets(rates = anyRates): fc.Arbitrary<Limit> {
  return windowLimits("bucketed_window", undefined, rates);
}

const eitherBuckets = fc.oneof(bucketedLimits(modestRates), exactBuckets(modestRates));

/** The same algorithm with `by` units more. */
export function raised(limit: Limit, by: number): Limit {
  const more = (units: number): number => Math.min(MOST_UNITS, Math.ceil(units) + by);
  return makeLimit({ ...limit, limit: more(limit.limit), burst: more(limit.burst) });
}

export interface Variant {
  readonly name: string;
  readonly algorithm: AlgorithmName;
  readonly limits: fc.Arbitrary<Limit>;
  /** Those whose windows and units a key can come from or go to without leaving the times that there are. */
  readonly modest: fc.Arbitrary<Limit>;
}

function variant(
  algorithm: AlgorithmName,
  mode: string,
  limitsOf: (rates: fc.Arbitrary<Rate>) => fc.Arbitrary<Limit>,
): Variant {
  return { name: `${algorithm}${mode}`, algorithm, limits: limitsOf(anyRates), modest: limitsOf(modestRates) };
}

/** The limits of an algorithm that has fields of no other. */
const modes: Partial<Record<AlgorithmName, readonly Variant[]>> = {
  token_bucket: [
    variant("token_bucket", "", (rates) => meterLimits("token_bucket", rates)),
    variant("token_bucket", " by capacity", () => capacityLimits),
    { ...variant("token_bucket", ", coarse", (rates) => meterLimits("token_bucket", rates)), limits: coarseLimits },
  ],
  fixed_window: [
    variant("fixed_window", " by the clock", (rates) => windowLimits("fixed_window", "clock", rates)),
    variant("fixed_window", " by request", (rates) => windowLimits("fixed_window", "request", rates)),
    variant("fixed_window", " by the calendar", calendarLimits),
  ],
  bucketed_window: [
    { ...variant("bucketed_window", "", bucketedLimits), modest: eitherBuckets },
    { ...variant("bucketed_window", ", exact", exactBuckets), modest: eitherBuckets },
  ],
};

function plain(algorithm: AlgorithmName): Variant {
  const { burst } = algorithms[algorithm].traits;
  return variant(algorithm, "", (rates) =>
    burst ? meterLimits(algorithm, rates) : windowLimits(algorithm, undefined, rates),
  );
}

/** Every algorithm whose units come back with time, in every mode. */
export const variants: readonly Variant[] = rateAlgorithms.flatMap(({ name }) => modes[name] ?? [plain(name)]);
