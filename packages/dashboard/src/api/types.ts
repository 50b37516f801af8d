import type { RateLimitRule } from "headgate-server";

export type { RateLimitRule };

/** What responses of the REST API have. Only the fields that the dashboard reads. */
export type Role = "check" | "read" | "write";

export interface Session {
  readonly key_id: string;
  readonly name: string;
  readonly roles: readonly Role[];
  readonly expires_at: string;
  readonly csrf_token: string;
}

type StoreState = "memory" | "reachable" | "partial" | "unreachable";
export type Dimension = "user" | "ip" | "apikey";

interface Rates {
  readonly allowed: number;
  readonly denied: number;
  readonly shadow_denied: number;
  readonly candidate_denied: number;
  readonly unmatched: number;
  readonly sources: Readonly<Record<"store" | "lease" | "cache" | "fallback", number>>;
}

export interface LiveNode extends Rates {
  readonly node_id: string;
  readonly name: string;
  readonly version: string;
  readonly started_at: string;
  readonly at: string;
  readonly store: StoreState;
}

export interface LivePicture extends Rates {
  readonly at: string;
  readonly nodes: readonly LiveNode[];
  readonly complete: boolean;
}

export interface UsageSeries {
  readonly allowed: readonly number[];
  readonly denied: readonly number[];
  readonly shadow_denied: readonly number[];
  readonly candidate_denied: readonly number[];
}

export interface RuleUsage extends UsageSeries {
  readonly rule_id: string;
}

export interface UsageSummary {
  readonly period: "minute" | "day";
  readonly from: string;
  readonly to: string;
  readonly starts: readonly string[];
  readonly total: UsageSeries;
  readonly rules: readonly RuleUsage[];
}

interface DeniedKey {
  readonly dimension: Dimension;
  readonly identifier: string;
  readonly denied: number;
  readonly error: number;
}

export interface TopDenied {
  readonly keys: readonly DeniedKey[];
  readonly nodes: number;
  readonly complete: boolean;
}

export interface RulePage {
  readonly rules: readonly RateLimitRule[];
  readonly next?: string;
}

export interface RuleWarning {
  readonly rule_ids: readonly string[];
  readonly message: string;
}

export interface RuleWarnings {
  readonly warnings: readonly RuleWarning[];
  readonly more?: number;
}

/** A page of the recorded requests of a rule, latest first. */
export interface RecordingPage {
  readonly recording: boolean;
  /** If the requests of one identity were asked for: whether it is recorded. */
  readonly recorded?: boolean;
  readonly now_ms: number;
  readonly one_in?: number;
  readonly processes: number;
  readonly requests: readonly {
    readonly time_ms: number;
    readonly key: string;
    readonly action: "take" | "penalize" | "refund" | "reset";
    readonly cost: number;
    readonly allowed: boolean;
    readonly remaining?: number;
    readonly idempotency_key?: string;
  }[];
  readonly complete_from_ms?: number;
  readonly next?: string;
}

export interface ListedReservation {
  readonly reservation_id: string;
  /** The namespace of the API key that made it. */
  readonly owner?: string | null;
  readonly made_at_ms?: number;
  readonly expires_at_ms: number;
  readonly reserved: readonly {
    readonly rule_id: string;
    readonly dimension: Dimension;
    readonly identifier: string;
    readonly cost: number;
    readonly slots: boolean;
  }[];
}

export interface Override {
  readonly override_id: string;
  readonly rule_id: string | null;
  readonly limit: number;
  readonly burst: number | null;
  readonly reason: string;
  readonly expires_at: string;
}

export interface UserData {
  readonly user_id: string;
  readonly tier: string | null;
  readonly custom_limits: Readonly<Record<string, { readonly limit: number; readonly burst?: number | null }>>;
  readonly overrides: readonly Override[];
}

export interface UserPage {
  readonly users: readonly UserData[];
  readonly next?: string;
}

export interface LimitAnswer {
  readonly rule_id: string;
  readonly name: string;
  /** Whether it is the candidate of the rule. */
  readonly candidate?: true;
  readonly allowed: boolean;
  readonly current_count: number;
  readonly limit: number;
  readonly burst: number;
  readonly window_seconds: number;
  readonly remaining: number;
  readonly reset_at_ms: number;
  readonly retry_after_ms: number;
  readonly state: "normal" | "warning" | "throttled";
  readonly source: "store" | "lease" | "cache" | "fallback";
  readonly degraded: boolean;
  readonly origin: "rule" | "tier" | "custom" | "override";
}

export interface ExplainedRule {
  readonly rule_id: string;
  readonly name: string;
  readonly endpoint_pattern: string;
  readonly methods: readonly string[] | null;
  readonly tier: string | null;
  readonly mode: "enforce" | "shadow";
  readonly applies: boolean;
  readonly origin: string | null;
  readonly why: string;
}

export interface Explanation {
  readonly identifier: string;
  readonly dimension: Dimension;
  readonly endpoint: string;
  readonly tier: string | null;
  readonly summary: string;
  readonly answer: {
    readonly allowed: boolean;
    readonly retry_after_ms: number;
    readonly limits?: readonly LimitAnswer[];
    readonly shadow_limits?: readonly LimitAnswer[];
  };
  readonly rules: readonly ExplainedRule[];
}

export interface AuditEntry {
  readonly seq: number;
  readonly at: string;
  readonly actor_id: string;
  readonly actor_name: string;
  readonly action: string;
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly hash: string;
  readonly unreadable?: string;
}

export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly next?: string;
}

export interface Verification {
  readonly intact: boolean;
  readonly entries: number;
  readonly begins_after: { readonly seq: number };
  readonly head: { readonly seq: number; readonly hash: string };
  readonly broken?: readonly { readonly seq: number; readonly problem?: string }[];
}
