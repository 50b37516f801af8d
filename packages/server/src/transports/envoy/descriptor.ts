/** The units of Envoy's API, by their numbers, with their lengths in seconds. A month has 30 days and a year 365. */
export const UNITS = {
  second: { number: 1, seconds: 1 },
  minute: { number: 2, seconds: 60 },
  hour: { number: 3, seconds: 3_600 },
  day: { number: 4, seconds: 86_400 },
  month: { number: 5, seconds: 30 * 86_400 },
  year: { number: 6, seconds: 365 * 86_400 },
  week: { number: 7, seconds: 7 * 86_400 },
} as const;

export type Unit = keyof typeof UNITS;

export const UNIT_NAMES: readonly Unit[] = ["second", "minute", "hour", "day", "month", "year", "week"];

export interface Entry {
  readonly key: string;
  readonly value: string;
}

/** What a request is described by, and what it takes. */
export interface Descriptor {
  readonly entries: readonly Entry[];
  /** A limit that the caller gives for this request. */
  readonly limit: CallLimit | undefined;
  /** Units to take; 0 only looks. Undefined: as many as the request says. */
  readonly hits: number | undefined;
  /** Whether the units are given back. */
  readonly isRefund: boolean;
}

export interface CallLimit {
  readonly requestsPerUnit: number;
  readonly unit: Unit;
}

/** A request of Envoy's rate limit filter. */
export interface RateLimitRequest {
  readonly domain: string;
  readonly descriptors: readonly Descriptor[];
  /** Units to take for descriptors that do not say; 0 counts as 1. */
  readonly hits: number;
}

/** `OVER_LIMIT` denies. */
export type Code = "OK" | "OVER_LIMIT";

/** The result for one descriptor. */
export interface DescriptorStatus {
  readonly code: Code;
  /** The limit that was found, if there is one. */
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: Unit | undefined; readonly name: string };
  readonly remaining: number;
  /** Whole seconds until the window ends. */
  readonly resetSeconds?: number;
}

export interface Header {
  readonly name: string;
  readonly value: string;
}

/** The answer to a request of the rate limit filter. */
export interface RateLimitAnswer {
  readonly code: Code;
  /** In the order of the descriptors. */
  readonly statuses: readonly DescriptorStatus[];
  /** For the response to the client. */
  readonly headers: readonly Header[];
  /** The body of a denial; empty if there is none. */
  readonly body: string;
}
