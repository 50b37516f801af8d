import type { LineRequest, LineResult } from "./log-format.ts";
import { timeOf } from "./log-time.ts";

/** The fields of a line, as the log has them. */
export interface FieldValues {
  readonly time: unknown;
  readonly key: unknown;
  readonly path: unknown;
  readonly method: unknown;
  /** Undefined if requests cost 1. */
  readonly cost: unknown;
}

/** Makes a request of the fields of a line. */
export function requestFrom({ time, key, path, method, cost }: FieldValues, into: LineRequest): LineResult {
  into.time = timeOf(time);
  if (!Number.isSafeInteger(into.time)) return problem("time", "is not a time", time);
  if (typeof key !== "string" && typeof key !== "number") return problem("key", "is not a text", key);
  into.key = String(key);
  if (into.key === "" || into.key === "-") return problem("key", "is empty", key);
  into.path = typeof path === "string" ? pathOf(path) : "/";
  into.method = typeof method === "string" ? method : "";
  into.cost = cost === undefined ? 1 : costOf(cost);
  return Number.isNaN(into.cost) ? problem("cost", "is not a whole number", cost) : undefined;
}

/** The cost in a log; NaN if it is none. */
export function costOf(value: unknown): number {
  const cost = typeof value === "string" && value !== "" ? Number(value) : value;
  return typeof cost === "number" && Number.isSafeInteger(cost) && cost >= 0 ? cost : Number.NaN;
}

/** A path without its query string; of an absolute URL, only the path. */
export function pathOf(target: string): string {
  const query = target.indexOf("?");
  const path = query < 0 ? target : target.slice(0, query);
  return path.startsWith("/") ? path : path.replace(/^[a-z][a-z\d+.-]*:\/\/[^/]*/i, "") || "/";
}

function problem(field: string, what: string, value: unknown): string {
  if (value === undefined) return `${field}: is missing`;
  return `${field}: ${what}: ${JSON.stringify(value)?.slice(0, 80)}`;
}
