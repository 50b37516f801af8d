import { isAlgorithmName } from "../algorithms/lookup.ts";
import { CALENDAR_UNITS, calendarOf } from "./calendar.ts";
import type { Limit } from "./limit.ts";

const NUMBERS = ["limit", "window", "burst", "bucketWidth", "unit", "drain", "perPart", "capacity"] as const;

/**
 * Reads a limit from its JSON, as written by `JSON.stringify(limit)`. Returns undefined if the value is not a limit.
 */
export function limitFromJson(value: unknown): Limit | undefined {
  // Numbers survive JSON unchanged, because they are finite and written with all digits.
  if (!isWritten(value)) return undefined;
  const calendar: unknown = Reflect.get(value, "calendar");
  if (calendar === undefined) return value;
  if (typeof calendar !== "object" || calendar === null) return undefined;
  const unit = CALENDAR_UNITS.find((each) => each === Reflect.get(calendar, "unit"));
  const zone: unknown = Reflect.get(calendar, "timeZone");
  const day: unknown = Reflect.get(calendar, "anchorDay");
  if (unit === undefined || typeof zone !== "string" || typeof day !== "number") return undefined;
  return Object.freeze({ ...value, calendar: calendarOf(unit, zone, day) });
}

function isWritten(value: unknown): value is Limit {
  if (typeof value !== "object" || value === null) return false;
  if (!NUMBERS.every((name) => Number.isFinite(Reflect.get(value, name)))) return false;
  if (!("algorithm" in value && "anchor" in value && "coarse" in value)) return false;
  const { algorithm, anchor, coarse } = value;
  return isAlgorithmName(algorithm) && (anchor === "clock" || anchor === "request") && typeof coarse === "boolean";
}
