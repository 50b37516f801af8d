import { type BareItem, type Item, LARGEST_INTEGER, parseDictionary, parseList } from "./structured-field.ts";

/** Headers of a `fetch` response or of Node. Names can be in any case. */
export type HeaderSource =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | number | readonly string[] | undefined>>;

/** A policy reported by a server. */
export interface StatedPolicy {
  /** Undefined in older formats. */
  readonly name?: string;
  /** Units per window. */
  readonly quota: number;
  /** Length of the window in milliseconds. */
  readonly windowMs?: number;
  /** What is counted. Default `requests`. */
  readonly unit: string;
  /** Partition key, in base64. */
  readonly partition?: string;
}

/** The state of a limit reported by a server. */
export interface StatedLimit {
  /** Undefined in older formats. */
  readonly name?: string;
  /** Units left. */
  readonly remaining: number;
  /** Milliseconds until more is available. At most `remaining` should be used until then. */
  readonly resetAfterMs?: number;
  readonly partition?: string;
}

/** The rate limits reported by a response. */
export interface RateLimitInfo {
  readonly policies: readonly StatedPolicy[];
  readonly limits: readonly StatedLimit[];
  /** Milliseconds until the request can be retried. Takes precedence over the limits. */
  readonly retryAfterMs?: number;
  /** Usage states reported by a Headgate server: `warning` or `throttled`, with the policy. */
  readonly states: readonly { readonly state: string; readonly policy?: string }[];
}

/**
 * Parses the rate limit headers of a response: the IETF draft from its current version back to the sixth, and
 * `X-RateLimit-*`. Malformed values are ignored, as the draft requires. `nowMs` is the time of the response, used if it
 * has no `Date` header.
 */
export function parseRateLimitHeaders(headers: HeaderSource, nowMs: number = Date.now()): RateLimitInfo {
  const header = reader(headers);
  const now = dateOf(header("date")) ?? nowMs;
  const retryAfterMs = waitOf(header("retry-after"), now);
  const rest = { states: statesIn(header), ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  // A cached response describes the limits at the time it was generated.
  if (Number(header("age")) > 0) return { policies: [], limits: [], ...rest };
  for (const read of FORMS) {
    const { policies, limits } = read(header, now);
    if (limits.length > 0) return { policies, limits, ...rest };
  }
  return { policies: policiesIn(header), limits: [], ...rest };
}

type Header = (name: string) => string | undefined;

type Form = (header: Header, now: number) => Pick<RateLimitInfo, "policies" | "limits">;

/** Newest first. */
const FORMS: readonly Form[] = [
  (header) => ({ policies: policiesIn(header), limits: itemsOf(header("ratelimit")).flatMap(limitOf) }),
  (header, now) => {
    const members = parseDictionary(header("ratelimit") ?? "") ?? new Map<string, Item>();
    const integer = (name: string): string | undefined => {
      const value = integerOf(members.get(name)?.bare);
      return value === undefined ? undefined : String(value);
    };
    return unnamed(header, integer("limit"), integer("remaining"), momentOf(integer("reset"), now));
  },
  three("ratelimit"),
  three("x-ratelimit"),
  three("x-rate-limit"),
];

/**
 * Three headers. Some servers send a fourth, `Reset-After`, which is preferred because it does not depend on clocks.
 */
function three(prefix: string): Form {
  return (header, now) => {
    const value = (name: string): string | undefined => header(`${prefix}-${name}`);
    const resetAfterMs = durationOf(value("reset-after"), now) ?? momentOf(value("reset"), now);
    return unnamed(header, value("limit"), value("remaining"), resetAfterMs);
  };
}

function reader(headers: HeaderSource): Header {
  if (typeof headers.get === "function") {
    const { get } = headers;
    return (name) => get.call(headers, name) ?? undefined;
  }
  const byName = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) byName.set(name.toLowerCase(), Array.isArray(value) ? value.join(", ") : String(value));
  }
  return (name) => byName.get(name);
}

function itemsOf(text: string | undefined): readonly Item[] {
  return text === undefined ? [] : (parseList(text) ?? []);
}

/** The current draft names its policies; earlier ones start with the quota: `100;w=60`. */
function policiesIn(header: Header): readonly StatedPolicy[] {
  return itemsOf(header("ratelimit-policy")).flatMap(({ bare, parameters }) => {
    const name = nameOf(bare);
    const quota = integerOf(name === undefined ? bare : parameters.get("q"));
    if (quota === undefined) return [];
    const window = integerOf(parameters.get("w"));
    const unit = textOf(parameters.get("qu"));
    return {
      ...(name === undefined ? {} : { name }),
      quota,
      ...(window === undefined ? {} : { windowMs: window * 1000 }),
      unit: unit ?? "requests",
      ...partitionOf(parameters),
    };
  });
}

function limitOf({ bare, parameters }: Item): StatedLimit[] {
  const name = nameOf(bare);
  const remaining = integerOf(parameters.get("r"));
  if (name === undefined || remaining === undefined) return [];
  const reset = integerOf(parameters.get("t"));
  const resetAfter = reset === undefined ? {} : { resetAfterMs: reset * 1000 };
  return [{ name, remaining, ...resetAfter, ...partitionOf(parameters) }];
}

/** Formats that report a single unnamed limit. */
function unnamed(
  header: Header,
  limit: string | undefined,
  remaining: string | undefined,
  resetAfterMs: number | undefined,
): Pick<RateLimitInfo, "policies" | "limits"> {
  const left = countOf(remaining);
  if (left === undefined) return { policies: [], limits: [] };
  const quota = countOf(limit);
  const stated = policiesIn(header);
  return {
    policies: stated.length > 0 || quota === undefined ? stated : [{ quota, unit: "requests" }],
    limits: [{ remaining: left, ...(resetAfterMs === undefined ? {} : { resetAfterMs }) }],
  };
}

function statesIn(header: Header): RateLimitInfo["states"] {
  return itemsOf(header("headgate-state")).flatMap(({ bare, parameters }) => {
    if (bare.type !== "token") return [];
    const policy = textOf(parameters.get("policy"));
    return [{ state: bare.value, ...(policy === undefined ? {} : { policy }) }];
  });
}

/** A name is a string; examples in some drafts use tokens. */
function nameOf(bare: BareItem): string | undefined {
  return bare.type === "string" || bare.type === "token" ? bare.value : undefined;
}

function textOf(bare: BareItem | undefined): string | undefined {
  return bare?.type === "string" ? bare.value : undefined;
}

function integerOf(bare: BareItem | undefined): number | undefined {
  return bare?.type === "integer" && bare.value >= 0 ? bare.value : undefined;
}

function partitionOf(parameters: ReadonlyMap<string, BareItem>): { readonly partition?: string } {
  const key = parameters.get("pk");
  return key?.type === "bytes" ? { partition: key.value } : {};
}

/** The first number of a possible list: some servers put all of their limits here. */
function countOf(text: string | undefined): number | undefined {
  const [, count] = /^\s*(\d{1,15})\s*(?:[,;]|$)/.exec(text ?? "") ?? [];
  return count === undefined ? undefined : Number(count);
}

/** A duration. A number with too many digits is a very long duration, not a syntax error. */
function waitOf(text: string | undefined, now: number): number | undefined {
  if (/^\s*\d{16,}\s*$/.test(text ?? "")) return Math.min(Number(text), LARGEST_INTEGER) * 1000;
  return durationOf(text, now);
}

/** Milliseconds from now, from a number of seconds or a date. */
function durationOf(text: string | undefined, now: number): number | undefined {
  const seconds = numberOf(text);
  if (seconds !== undefined) return seconds * 1000;
  const date = dateOf(text);
  return date === undefined ? undefined : Math.max(0, date - now);
}

/**
 * Larger numbers are not a duration in seconds (30 years) but a Unix time, and still larger ones are in milliseconds.
 */
const EPOCH_SECONDS = 1e9;
const EPOCH_MILLISECONDS = 1e12;

/** A duration, or the Unix time that many servers send instead. */
function momentOf(text: string | undefined, now: number): number | undefined {
  const number = numberOf(text) ?? 0;
  if (number < EPOCH_SECONDS) return durationOf(text, now);
  return Math.max(0, (number < EPOCH_MILLISECONDS ? number * 1000 : number) - now);
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\s*\d{1,15}(?:\.\d{1,9})?\s*$/.test(text) ? Number(text) : undefined;
}

/** A date in HTTP or ISO 8601 format; a bare number is not one. */
function dateOf(text: string | undefined): number | undefined {
  if (text === undefined || !/^\s*(?:[A-Za-z]{3,9},? |\d{4}-\d\d-\d\dT)/.test(text)) return undefined;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : date;
}
