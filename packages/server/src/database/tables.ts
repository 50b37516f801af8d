import type { ColumnType } from "kysely";
import type { RuleInput } from "../rules/rule.ts";

/**
 * The tables, identical on both databases. Times are milliseconds since the epoch and JSON is text, so that both
 * databases compare and return them alike, and text that PostgreSQL cannot store (NUL, lone surrogates) is preserved.
 */
export interface Tables {
  readonly headgate_rules: RuleRow;
  readonly headgate_users: UserRow;
  readonly headgate_overrides: OverrideRow;
  readonly headgate_keys: KeyRow;
  readonly headgate_audit: AuditRow;
  readonly headgate_audit_chain: AuditChainRow;
  readonly headgate_changes: ChangeRow;
  readonly headgate_rollups: RollupRow;
  readonly headgate_answered: AnsweredRow;
  readonly headgate_top_denied: TopDeniedRow;
  readonly headgate_node_reports: NodeReportRow;
}

/** The fields of a rule as columns: 1 for true and 0 for false; lists as text, separated by commas; objects as JSON. */
type RuleColumns = {
  readonly [Name in keyof RuleInput]:
    | Exclude<RuleInput[Name], boolean | object>
    | (boolean extends RuleInput[Name] ? number : never)
    | ([Extract<RuleInput[Name], object>] extends [never] ? never : string);
};

/** The fields of a rule, with times as numbers, and `place`. */
export interface RuleRow extends RuleColumns {
  readonly created_at: number;
  readonly updated_at: number;
  readonly version: number;
  /** A digest of dimension, pattern, window, tier and methods: unique, and short enough for an index. */
  readonly place: string;
}

interface UserRow {
  readonly user_id: string;
  readonly tier: string | null;
  readonly custom_limits: string;
  readonly version: number;
}

export interface OverrideRow {
  readonly override_id: string;
  readonly user_id: string;
  readonly rule_id: string | null;
  readonly limit: number;
  readonly burst: number | null;
  readonly reason: string;
  readonly expires_at: number;
  readonly created_at: number;
  readonly created_by: string;
}

export interface KeyRow {
  readonly key_id: string;
  readonly name: string;
  readonly roles: string;
  readonly hash: string;
  /** null: of a key made before keys had one, and so its id. */
  readonly namespace: string | null;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly revoked_at: number | null;
}

export interface AuditRow {
  readonly seq: number;
  readonly at: number;
  readonly actor_id: string;
  readonly actor_name: string;
  readonly action: string;
  readonly subject: string;
  readonly before: string;
  readonly after: string;
  readonly previous_hash: string;
  readonly hash: string;
}

/** A single row: where the chain ends, and where it starts since the last purge. */
interface AuditChainRow {
  readonly id: number;
  readonly head_seq: number;
  readonly head_hash: string;
  readonly anchor_seq: number;
  readonly anchor_hash: string;
}

/** Changes in order, for other nodes. The newest row is never purged. */
export interface ChangeRow {
  readonly revision: number;
  readonly at: number;
  readonly kind: string;
  readonly user_id: string | null;
}

interface RollupRow {
  readonly period: "minute" | "day";
  readonly start: number;
  readonly rule_id: string;
  readonly allowed: number;
  readonly denied: number;
  readonly shadow_denied: number;
  readonly candidate_denied: number;
}

interface AnsweredRow {
  readonly key: string;
  readonly fingerprint: string;
  readonly claimed_at: number;
  /** null while in progress. */
  readonly response: ColumnType<string | null, string | null | undefined, string | null>;
}

/** The report of a node about an hour. */
interface TopDeniedRow {
  readonly node_id: string;
  readonly start: number;
  readonly report: string;
}

/** The latest figures of a node, or of one worker of it. */
interface NodeReportRow {
  readonly node_id: string;
  readonly at: number;
  readonly report: string;
}
