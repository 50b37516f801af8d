import { isAlgorithmName } from "../algorithms/lookup.ts";
import type { Limit } from "../limits/limit.ts";
import type { Operation, Rule } from "../stores/store.ts";

/** The record of a reservation, for the processes that may have to release it. */
export interface JournalRecord {
  /** The earliest time of the charge, by the store's clock. */
  readonly at: number;
  readonly operations: readonly ReservedOperation[];
}

export interface ReservedOperation extends Operation {
  /** Whether the cost is an estimate; otherwise it is final. */
  readonly reserved: boolean;
}

export function writeRecord({ at, operations }: JournalRecord): string {
  return JSON.stringify({ at, operations });
}

/** Parses a record. Returns undefined if it cannot be read, for example because another version wrote it. */
export function readRecord(text: string): JournalRecord | undefined {
  try {
    const record: unknown = JSON.parse(text);
    return isRecord(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is JournalRecord {
  return hasNumbers(value, ["at"]) && "operations" in value && isList(value.operations, isOperation);
}

function isOperation(value: unknown): value is ReservedOperation {
  if (!hasNumbers(value, ["cost"]) || !("rule" in value && "key" in value && "reserved" in value)) return false;
  const { rule, key, reserved } = value;
  if ("limit" in value && !isLimit(value.limit)) return false;
  return typeof key === "string" && typeof reserved === "boolean" && isRule(rule);
}

function isRule(value: unknown): value is Rule {
  if (typeof value !== "object" || value === null || !("name" in value && "limit" in value)) return false;
  if ("counter" in value && typeof value.counter !== "string") return false;
  return typeof value.name === "string" && isLimit(value.limit);
}

const NUMBERS = ["limit", "window", "burst", "bucketWidth", "unit", "drain", "perPart", "capacity"] as const;

/** Limits survive JSON unchanged: their numbers are finite and written with all digits. */
function isLimit(value: unknown): value is Limit {
  if (!hasNumbers(value, NUMBERS) || !("algorithm" in value && "anchor" in value && "coarse" in value)) return false;
  const { algorithm, anchor, coarse } = value;
  return isAlgorithmName(algorithm) && (anchor === "clock" || anchor === "request") && typeof coarse === "boolean";
}

function hasNumbers(value: unknown, names: readonly string[]): value is object {
  return (
    typeof value === "object" && value !== null && names.every((name) => Number.isFinite(Reflect.get(value, name)))
  );
}

function isList<Item>(value: unknown, isItem: (item: unknown) => item is Item): value is readonly Item[] {
  return Array.isArray(value) && value.length > 0 && value.every(isItem);
}
