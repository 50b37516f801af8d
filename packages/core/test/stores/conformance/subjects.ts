import { rateAlgorithms } from "../../../src/algorithms/lookup.ts";
import { bucketedWindow, fixedWindow, type Limit, type Rate } from "../../../src/index.ts";
import { leavesAtOnce, type TenUnits, tenUnitsOf } from "../../algorithms/models/ten-units.ts";

/** Every kind of limit, with what it must answer about 10 units in 10 seconds. */
export interface Subject extends TenUnits {
  readonly name: string;
  readonly make: (rate: Rate) => Limit;
}

const ofAlgorithms = rateAlgorithms.map(async ({ name, build }) => ({
  name,
  make: (rate: Rate): Limit => build(rate),
  ...(await tenUnitsOf(name)),
}));

export const subjects: readonly Subject[] = [
  ...(await Promise.all(ofAlgorithms)),
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
