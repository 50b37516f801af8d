import { HeadgateError, shown } from "../errors.ts";
import { type AlgorithmName, bucketWidth, type Limit, makeCapacityLimit, makeLimit, microseconds } from "./limit.ts";

const SECOND = 1_000_000;

/** The fields of each algorithm in a file or a request, besides `algorithm`. */
const FIELDS: Readonly<Record<AlgorithmName, readonly string[]>> = {
  token_bucket: ["limit", "window", "burst", "capacity", "refill_rate"],
  leaky_bucket: ["limit", "window", "burst"],
  gcra: ["limit", "window", "burst"],
  fixed_window: ["limit", "window", "anchor"],
  sliding_window_log: ["limit", "window"],
  sliding_window_counter: ["limit", "window"],
  bucketed_window: ["limit", "window", "bucket_width", "exact"],
};

/** How long a bucketed window is when nobody says. */
const DEFAULT_BUCKETED_WINDOW = 1;

/**
 * Creates a limit from configuration: snake_case fields, durations in seconds. The algorithm defaults to
 * `token_bucket`. `at` is the path of the limit in the configuration, for error messages.
 */
export function limitFromSpec(spec: unknown, at = ""): Limit {
  if (typeof spec !== "object" || spec === null || Array.isArray(spec)) {
    throw new HeadgateError("HG_BAD_LIMIT", at === "" ? "limit" : at, `must be an object, got ${shown(spec)}`);
  }
  const fields = new Map<string, unknown>(Object.entries(spec));
  const path = at === "" ? "" : `${at}.`;
  const algorithm = readAlgorithm(fields.get("algorithm"), path);
  const known = FIELDS[algorithm];
  for (const name of fields.keys()) {
    if (name !== "algorithm" && !known.includes(name)) {
      throw new HeadgateError(
        "HG_BAD_LIMIT",
        `${path}${name}`,
        `is not a field of ${algorithm} (known: ${known.join(", ")})`,
      );
    }
  }
  if (algorithm === "token_bucket" && !fields.has("limit") && !fields.has("window")) {
    if (fields.has("burst"))
      throw new HeadgateError("HG_BAD_LIMIT", `${path}burst`, "is used with limit and window, not with capacity");
    return makeCapacityLimit(fields.get("capacity"), fields.get("refill_rate"), path);
  }
  for (const name of ["capacity", "refill_rate"]) {
    if (fields.has(name))
      throw new HeadgateError("HG_BAD_LIMIT", `${path}${name}`, "cannot be combined with limit and window");
  }
  const isDefault = algorithm === "bucketed_window" && !fields.has("window");
  const window = microseconds(isDefault ? DEFAULT_BUCKETED_WINDOW : fields.get("window"), SECOND, `${path}window`);
  const width = fields.has("bucket_width")
    ? microseconds(fields.get("bucket_width"), SECOND, `${path}bucket_width`)
    : undefined;
  return makeLimit(
    {
      algorithm,
      limit: fields.get("limit"),
      window,
      burst: fields.get("burst"),
      anchor: fields.get("anchor"),
      bucketWidth:
        algorithm === "bucketed_window"
          ? bucketWidth(window, width, fields.get("exact"), { width: `${path}bucket_width`, exact: `${path}exact` })
          : 1,
    },
    path,
  );
}

function readAlgorithm(value: unknown, path: string): AlgorithmName {
  if (value === undefined) return "token_bucket";
  if (typeof value === "string" && Object.hasOwn(FIELDS, value)) return value as AlgorithmName;
  throw new HeadgateError(
    "HG_BAD_LIMIT",
    `${path}algorithm`,
    `must be one of ${Object.keys(FIELDS).join(", ")}, got ${shown(value)}`,
  );
}
