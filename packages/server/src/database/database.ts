import type { ApiKeyRecord } from "../access/api-key.ts";
import type { AuditEntry, AuditEvent, AuditQuery, ChainBreak } from "../audit/audit.ts";
import type { Link } from "../audit/chain.ts";
import type { Rollup, RollupQuery, SummaryQuery, UsageSummary } from "../metrics/rollup.ts";
import type { RateLimitRule, RuleInput } from "../rules/rule.ts";
import type { CustomLimit, Override, UserData, UserInput } from "../rules/user-limits.ts";
import type { Retention } from "./retention.ts";

/**
 * What the service stores: rules, users, keys, the audit chain and rollups, in SQLite or PostgreSQL. A change and its
 * audit entry are one transaction. Throws DatabaseErrors, never those of the driver.
 */
export interface Database {
  readonly rules: RuleTable;
  readonly users: UserTable;
  readonly keys: KeyTable;
  readonly audit: AuditTable;
  readonly rollups: RollupTable;
  readonly answered: AnsweredTable;
  readonly denied: DeniedTable;
  readonly nodes: NodeReportTable;
  /**
   * Calls the listener for every change, made here or by another node, within a second. Returns a function that
   * unsubscribes.
   */
  onChange(listener: (change: Change) => void): () => void;
  /** Resolves if the database can be read. */
  ping(): Promise<void>;
  /** Removes what has exceeded its retention. Returns the number of removed rows by kind. */
  purge(now: Date, retentionMs?: Partial<Retention>): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** `all`: changes may have been missed (a lost connection), so everything cached must be reread. */
export type Change =
  | { readonly kind: "rules" }
  | { readonly kind: "user"; readonly user_id: string }
  | { readonly kind: "keys" }
  | { readonly kind: "all" };

/** The author of a change, as recorded in the audit log. */
export interface Actor {
  /** The id of the API key, or `file`, or `system`. */
  readonly id: string;
  readonly name: string;
}

export interface Page {
  /** Maximum number of items. */
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string;
}

export interface Paged<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. */
  readonly next?: string;
}

export interface RuleTable {
  /** All rules, for the catalogue. */
  all(): Promise<readonly RateLimitRule[]>;
  list(page: Page): Promise<Paged<RateLimitRule>>;
  get(id: string): Promise<RateLimitRule | undefined>;
  /** "exists" if the id is in use, or another rule of the same family has the same tier. */
  create(input: RuleInput, actor: Actor): Promise<RateLimitRule | Conflict>;
  /** `version`: update only if the rule still has it. */
  update(input: RuleInput, actor: Actor, version?: number): Promise<RateLimitRule | Conflict>;
  /** Also removes custom limits and overrides of users for this rule. */
  remove(id: string, actor: Actor, version?: number): Promise<RateLimitRule | Conflict>;
  /** Makes these the only rules, in one transaction. Rules that do not change keep their version. */
  replace(inputs: readonly RuleInput[], actor: Actor): Promise<Replaced>;
}

export interface Replaced {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
}

/** Why a write was not done. `current` is the stored version. */
export interface Conflict {
  readonly conflict: "exists" | "missing" | "changed";
  readonly current?: number;
}

export interface UserQuery extends Page {
  readonly tier?: string;
}

/** Number of users changed by an import. */
export interface Imported {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
}

export interface UserTable {
  /** An unknown user has no tier, no custom limits, and version 0. */
  get(id: string): Promise<UserData>;
  /** The ids of all users with stored data; undefined if there are more than `most`. */
  ids(most: number): Promise<readonly string[] | undefined>;
  /** Pages of users in the order of their ids, optionally only those of one tier. */
  list(query: UserQuery): Promise<Paged<UserData>>;
  /** Stores the given properties of users, in order and in one transaction. */
  import(users: readonly UserInput[], actor: Actor): Promise<Imported>;
  setTier(id: string, tier: string | null, actor: Actor, version?: number): Promise<UserData | Conflict>;
  setCustomLimits(
    id: string,
    limits: Readonly<Record<string, CustomLimit>>,
    actor: Actor,
    version?: number,
  ): Promise<UserData | Conflict>;
  /** Throws a HeadgateError if the user has 1,000 overrides in force. */
  addOverride(override: Omit<Override, "override_id" | "created_at" | "created_by">, actor: Actor): Promise<Override>;
  removeOverride(userId: string, overrideId: string, actor: Actor): Promise<Override | Conflict>;
}

export interface KeyTable {
  all(): Promise<readonly ApiKeyRecord[]>;
  add(key: ApiKeyRecord, actor: Actor): Promise<void>;
  revoke(id: string, actor: Actor): Promise<ApiKeyRecord | Conflict>;
}

export interface AuditTable {
  /** For events that are not changes of the configuration: resets, transitions to throttled. */
  append(events: readonly AuditEvent[]): Promise<void>;
  /** Newest first. */
  query(query: AuditQuery): Promise<Paged<AuditEntry>>;
  /** Verifies the whole chain. `expected` is a head that was recorded earlier and must still be part of the chain. */
  verify(expected?: Link): Promise<Verified>;
}

export interface Verified {
  /** Number of unmodified entries. */
  readonly entries: number;
  /** The last entry that was purged; seq 0 if none was. */
  readonly begins_after: Link;
  /** The last entry. Recorded outside the database, it shows later whether the chain was rewritten. */
  readonly head: Link;
  /** Absent if the chain is intact. Otherwise the first breaks, about a hundred at most. */
  readonly broken?: readonly ChainBreak[];
  /** Number of further breaks. */
  readonly unlisted?: number;
}

export interface RollupTable {
  /** Adds to existing figures: all nodes add their counts to the same minute. */
  add(rollups: readonly Rollup[]): Promise<void>;
  /** Ordered by start and rule. */
  query(query: RollupQuery): Promise<Paged<Rollup>>;
  /** All rules together, and the rules with the most denials. */
  summary(query: SummaryQuery): Promise<UsageSummary>;
}

/** Hourly reports of each node about the keys it denied most. */
export interface DeniedTable {
  /** Replaces this node's report about the hour that started at `start` (in milliseconds). */
  put(nodeId: string, start: number, text: string): Promise<void>;
  /** The reports of all nodes about hours that started at or after `start`. */
  since(start: number): Promise<readonly { readonly nodeId: string; readonly text: string }[]>;
}

/** The latest figures of each node, so that every node can show those of all. */
export interface NodeReportTable {
  /** Replaces the report of a node. `at` is in milliseconds. */
  put(nodeId: string, at: number, text: string): Promise<void>;
  /** The reports written at or after `at`, in the order of the node ids. */
  since(at: number): Promise<readonly string[]>;
  /** Removes the report of a node that stops. */
  remove(nodeId: string): Promise<void>;
}

/** Responses to admin writes by idempotency key, for five minutes. */
export interface AnsweredTable {
  /**
   * Claims an idempotency key for a request. Returns undefined if the caller now has it and must call `finish`;
   * otherwise what is known about the request that has it.
   */
  claim(key: string, fingerprint: string, now: Date): Promise<Answered | undefined>;
  finish(key: string, status: number, body: string, headers: Readonly<Record<string, string>>): Promise<void>;
  /** Gives up the key, because the request failed before it changed anything. */
  release(key: string): Promise<void>;
}

export interface Answered {
  readonly fingerprint: string;
  /** Undefined while the request is in progress. */
  readonly response?: {
    readonly status: number;
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
  };
}
