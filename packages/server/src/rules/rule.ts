import type { Anchor } from "headgate";

/** Whose requests a rule counts. */
export const DIMENSIONS = ["user", "ip", "apikey"] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** A dimension as a writer may spell it: in any case, and an API key with an underscore. */
export function dimensionOf(value: unknown): unknown {
  if (typeof value !== "string") return value;
  const name = value.toLowerCase();
  return name === "api_key" ? "apikey" : name;
}

/** Where the windows of a fixed window begin: at multiples of their length, or with the first request. */
export const ANCHORS = ["clock", "request"] as const satisfies readonly Anchor[];

/** `shadow` decides, is counted and shown, and refuses nothing. */
export const MODES = ["enforce", "shadow"] as const;
export type Mode = (typeof MODES)[number];

/** What holds while the store of counters fails. */
export const ON_ERRORS = ["allow", "deny", "local"] as const;
type OnError = (typeof ON_ERRORS)[number];

/** How near to the store a decision is made: by it, by a local cache of it, or by quota leased from it. */
export const CONSISTENCIES = ["strict", "cached", "leased"] as const;
export type Consistency = (typeof CONSISTENCIES)[number];

/** A rule as files, the wire and the database have it. Times are ISO 8601 in UTC. */
export interface RateLimitRule {
  readonly rule_id: string;
  readonly name: string;
  readonly dimension: Dimension;
  readonly endpoint_pattern: string;
  readonly limit: number;
  readonly window_seconds: number;
  readonly algorithm: string;
  /** How many units can be held at once; null: as many as the limit. */
  readonly burst: number | null;
  /** Of a fixed window; null: clock. */
  readonly anchor: Anchor | null;
  /** Of a bucketed window, in seconds; null: what the library chooses. */
  readonly bucket_width: number | null;
  /** Of a bucketed window: whether it counts to the microsecond; null: it does not. */
  readonly exact: boolean | null;
  /** The tier whose users it is for; null: for those whose tier has no rule of its own. */
  readonly tier: string | null;
  readonly mode: Mode;
  readonly on_error: OnError;
  readonly consistency: Consistency;
  readonly created_at: string;
  readonly updated_at: string;
  /** Counts up with each change; the ETag of the rule. */
  readonly version: number;
}

/** What a writer gives; the rest is ours to fill in. */
export type RuleInput = Omit<RateLimitRule, "created_at" | "updated_at" | "version">;
