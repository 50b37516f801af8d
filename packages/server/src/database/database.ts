import type { ApiKeyRecord } from "../access/api-key.ts";
import type { AuditEntry, AuditEvent, AuditQuery, ChainBreak } from "../audit/audit.ts";
import type { Link } from "../audit/chain.ts";
import type { Rollup, RollupQuery } from "../metrics/rollup.ts";
import type { RateLimitRule, RuleInput } from "../rules/rule.ts";
import type { CustomLimit, Override, Standing, UserInput } from "../rules/user-limits.ts";
import type { Retention } from "./retention.ts";

/**
 * What the service keeps: rules, users, keys, the audit chain, rollups. SQLite and PostgreSQL are the same to
 * all who use it. A change and its audit entry are one transaction: there is never one without the other.
 * Fails with a DatabaseError (code, message), never with the driver's own.
 */
export interface Database {
  readonly rules: RuleTable;
  readonly users: UserTable;
  readonly keys: KeyTable;
  readonly audit: AuditTable;
  readonly rollups: RollupTable;
  readonly answered: AnsweredTable;
  readonly denied: DeniedTable;
  /** Told of every change, made here or by another node, within a second. Returns how to stop listening. */
  onChange(listener: (change: Change) => void): () => void;
  /** Answers if the database can be read. */
  ping(): Promise<void>;
  /** Removes what has outlived its retention; returns how much of each. */
  purge(now: Date, retentionMs?: Partial<Retention>): Promise<Record<string, number>>;
  close(): Promise<void>;
}

/** `all`: changes may have been missed (a lost connection), so everything cached must be reread. */
export type Change =
  | { readonly kind: "rules" }
  | { readonly kind: "user"; readonly user_id: string }
  | { readonly kind: "keys" }
  | { readonly kind: "all" };

/** Who changes something, as the audit log names him. */
export interface Actor {
  /** The id of the API key, or `file`, or `system`. */
  readonly id: string;
  readonly name: string;
}

export interface Page {
  /** At most so many. */
  readonly limit: number;
  /** Where the last page ended, as it said. */
  readonly cursor?: string;
}

export interface Paged<Item> {
  readonly items: readonly Item[];
  /** Absent on the last page. */
  readonly next?: string;
}

export interface RuleTable {
  /** All of them, for the catalogue. */
  all(): Promise<readonly RateLimitRule[]>;
  list(page: Page): Promise<Paged<RateLimitRule>>;
  get(id: string): Promise<RateLimitRule | undefined>;
  /** "exists" if the id, or another member of the same family with the same tier, is there already. */
  create(input: RuleInput, actor: Actor): Promise<RateLimitRule | Conflict>;
  /** `version`: only if it still has it; absent: whatever it has. */
  update(input: RuleInput, actor: Actor, version?: number): Promise<RateLimitRule | Conflict>;
  /** With it goes what users have of their own under it: custom limits, and overrides of this rule. */
  remove(id: string, actor: Actor, version?: number): Promise<RateLimitRule | Conflict>;
  /** Makes the rules be exactly these, in one transaction; those that are the same keep their version. Others are removed. */
  replace(inputs: readonly RuleInput[], actor: Actor): Promise<Replaced>;
}

export interface Replaced {
  readonly created: readonly string[];
  readonly updated: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
}

/** Why a write was not done. `current` is the version that is there. */
export interface Conflict {
  readonly conflict: "exists" | "missing" | "changed";
  readonly current?: number;
}

export interface UserQuery extends Page {
  readonly tier?: string;
}

/** How many users an import has changed. */
export interface Imported {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
}

export interface UserTable {
  /** An unknown user has no tier, no custom limits, and version 0. */
  get(id: string): Promise<Standing>;
  /** The ids of all users with stored data; undefined if there are more than `most`. */
  ids(most: number): Promise<readonly string[] | undefined>;
  /** By page, in the order of their ids; those of one tier if it is given. */
  list(query: UserQuery): Promise<Paged<Standing>>;
  /** Stores what is given of users, in one transaction and in this order. */
  import(users: readonly UserInput[], actor: Actor): Promise<Imported>;
  setTier(id: string, tier: string | null, actor: Actor, version?: number): Promise<Standing | Conflict>;
  setCustomLimits(
    id: string,
    limits: Readonly<Record<string, CustomLimit>>,
    actor: Actor,
    version?: number,
  ): Promise<Standing | Conflict>;
  /** Fails with a HeadgateError if the user has 1,000 of them in force. */
  addOverride(override: Omit<Override, "override_id" | "created_at" | "created_by">, actor: Actor): Promise<Override>;
  removeOverride(userId: string, overrideId: string, actor: Actor): Promise<Override | Conflict>;
}

export interface KeyTable {
  all(): Promise<readonly ApiKeyRecord[]>;
  add(key: ApiKeyRecord, actor: Actor): Promise<void>;
  revoke(id: string, actor: Actor): Promise<ApiKeyRecord | Conflict>;
}

export interface AuditTable {
  /** For what is not a change of configuration: resets, transitions to throttled. */
  append(events: readonly AuditEvent[]): Promise<void>;
  /** The newest first. */
  query(query: AuditQuery): Promise<Paged<AuditEntry>>;
  /** Walks along the whole chain. `expected` is a head that was noted earlier: it must still be part of the chain. */
  verify(expected?: Link): Promise<Verified>;
}

export interface Verified {
  /** How many entries are as they were written. */
  readonly entries: number;
  /** The last entry that was purged; seq 0 if none was. */
  readonly begins_after: Link;
  /** The last entry. Note it outside the database: it shows later whether the chain was rewritten. */
  readonly head: Link;
  /** Absent if the chain is whole. Not empty, and not more than about a hundred. */
  readonly broken?: readonly ChainBreak[];
  /** How many further breaks are not in `broken`. */
  readonly unlisted?: number;
}

export interface RollupTable {
  /** Adds to what is there: nodes write their own counts into the same minute. */
  add(rollups: readonly Rollup[]): Promise<void>;
  /** By start and rule. */
  query(query: RollupQuery): Promise<Paged<Rollup>>;
}

/** What each node reports about the keys that it denies most, an hour in each report. */
export interface DeniedTable {
  /** Replaces what this node has reported about the hour that began at `start` (in milliseconds). */
  put(nodeId: string, start: number, text: string): Promise<void>;
  /** The reports of all nodes about hours that began then or later. */
  since(start: number): Promise<readonly { readonly nodeId: string; readonly text: string }[]>;
}

/** Answers of admin writes by idempotency key, for five minutes. */
export interface AnsweredTable {
  /**
   * Claims a key for a request: undefined if it is claimed now, and to be answered by `finish`;
   * else what is known of the request that holds it.
   */
  claim(key: string, fingerprint: string, now: Date): Promise<Answered | undefined>;
  finish(key: string, status: number, body: string, headers: Readonly<Record<string, string>>): Promise<void>;
  /** Gives the key up: the request failed before it changed anything. */
  release(key: string): Promise<void>;
}

export interface Answered {
  readonly fingerprint: string;
  /** undefined: still under way. */
  readonly response?: {
    readonly status: number;
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
  };
}
