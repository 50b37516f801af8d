import { Outcome } from "../../algorithms/algorithm.ts";
import { slotAlgorithmOf, traitsOf } from "../../algorithms/lookup.ts";
import { type Clock, requireClock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { HeadgateError, StoreError } from "../../errors.ts";
import { needsSlot } from "../../limiter/needs-slot.ts";
import { type Limit, sameLimit } from "../../limits/limit.ts";
import { type Requirements, readOptions, trueOrFalse, wholeNumber } from "../../options.ts";
import { fingerprint, IDEMPOTENCY_WINDOW } from "../idempotency-fingerprint.ts";
import { requireSlots } from "../slot-operations.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  counterOf,
  limitOf,
  type Operation,
  type Rule,
  type Store,
} from "../store.ts";
import { type Row, transact } from "../transact.ts";
import { IdempotencyRecords } from "./idempotency-records.ts";
import { KeyHash } from "./key-hash.ts";
import { RuleRows } from "./rule-rows.ts";
import { SlotRows } from "./slot-rows.ts";

const DEFAULT_MAX_KEYS = 4_000_000;
const DEFAULT_MAX_IDEMPOTENCY_KEYS = 250_000;

/** Options of `MemoryStore`. */
export interface MemoryStoreOptions {
  /**
   * Maximum number of keys per rule. Keys that still count are never removed; new keys that find no room share one
   * quota. Default 4,000,000.
   */
  readonly maxKeys?: number | undefined;
  /**
   * Maximum number of requests remembered for idempotent retries. When it is reached, the oldest are forgotten. Default
   * 250,000.
   */
  readonly maxIdempotencyKeys?: number | undefined;
  /** Source of time. Default: the system clock. */
  readonly clock?: Clock | undefined;
  /**
   * Remove keys whose quota is full again. Turn it off if requests of different keys are not in order of time. Default
   * true.
   */
  readonly sweep?: boolean | undefined;
}

const REQUIREMENTS: Requirements<MemoryStoreOptions> = {
  maxKeys: wholeNumber(1),
  maxIdempotencyKeys: wholeNumber(1),
  clock: requireClock,
  sweep: trueOrFalse,
};

/** Keeps counters in the memory of the process. Answers synchronously. */
export class MemoryStore implements Store {
  readonly clock: Clock;
  readonly takesFirst = true;
  private readonly maxKeys: number;
  private readonly sweep: boolean;
  private readonly hash = new KeyHash();
  /** By counter; a counter has separate rows for each algorithm and calendar. */
  private readonly rows = new Map<string, RuleRows[]>();
  /** Under releasable limits, by counter. */
  private readonly slots = new Map<string, SlotRows>();
  /** The limits of opened rules, by counter. */
  private readonly limits = new Map<string, Limit>();
  private readonly answered: IdempotencyRecords;
  /** The decision made last under a rate. */
  readonly out = new Outcome();
  /** Incremented whenever a limit is set or rows are replaced. */
  version = 0;

  constructor(options: MemoryStoreOptions = {}) {
    const { clock = new SystemClock(), sweep = true } = readOptions(options, REQUIREMENTS);
    const { maxKeys = DEFAULT_MAX_KEYS, maxIdempotencyKeys = DEFAULT_MAX_IDEMPOTENCY_KEYS } = options;
    this.clock = clock;
    this.maxKeys = maxKeys;
    this.sweep = sweep;
    this.answered = new IdempotencyRecords(maxIdempotencyKeys, this.hash);
  }

  /** For each rule, the number of keys, and the number of checks that found no room and used the shared quota. */
  get stats(): Record<string, { readonly keys: number; readonly overflowed: number }> {
    const counters = new Set([...this.rows.keys(), ...this.slots.keys()]);
    return Object.fromEntries(
      Array.from(counters, (counter) => {
        const slots = this.slots.get(counter);
        const all = [...(this.rows.get(counter) ?? []), ...(slots === undefined ? [] : [slots])];
        return [counter, { keys: sum(all, "keys"), overflowed: sum(all, "overflowed") }];
      }),
    );
  }

  /** Number of requests remembered for idempotent retries, and number of those forgotten early for lack of room. */
  get idempotency(): { readonly remembered: number; readonly forgotten: number } {
    const { size, forgotten } = this.answered;
    return { remembered: size, forgotten };
  }

  /** Prepares for a rule or its new limit. Limiters that share a store must define the same limit under a name. */
  open(rule: Rule, previous?: Limit): void {
    const known = this.limitOf(counterOf(rule));
    if (known === undefined || previous !== undefined) this.setLimit(rule);
    // Rules that name a counter share it deliberately, each with its own limit.
    else if (rule.counter === undefined && !sameLimit(known, rule.limit)) {
      throw new HeadgateError(
        "HG_BAD_RULES",
        `rules.${rule.name}`,
        "has a different limit in this store: limiters that share a store must define the same limit, or use another name",
      );
    }
  }

  /** The limit of the rule of a counter, if it was opened. */
  limitOf(counter: string): Limit | undefined {
    return this.limits.get(counter);
  }

  /** Changes the limit of a rule. Used units stay used unless the algorithm changes. */
  setLimit(rule: Rule): void {
    const counter = counterOf(rule);
    this.limits.set(counter, rule.limit);
    this.version += 1;
    const isReleasable = traitsOf(rule.limit).releasable === true;
    const rows = isReleasable ? [] : [this.rowsOf(rule, rule.limit)];
    if (rule.counter !== undefined) return;
    this.rows.set(counter, rows);
    if (!isReleasable) this.slots.delete(counter);
  }

  /** Whether anything was counted under a rule. */
  has(rule: Rule): boolean {
    const counter = counterOf(rule);
    return traitsOf(rule.limit).releasable ? this.slots.has(counter) : this.known(counter, rule.limit) !== undefined;
  }

  /** The rows of a rule's counter, ready to be used under a limit. */
  rowsOf(rule: Rule, limit: Limit): RuleRows {
    const counter = counterOf(rule);
    const known = this.known(counter, limit);
    if (known === undefined) return this.newRows(counter, limit);
    if (known.limit !== limit) known.use(limit);
    return known;
  }

  /** Forgets what all keys of all rules have used. */
  resetAll(): void {
    for (const counter of this.rows.keys()) this.rows.set(counter, []);
    this.slots.clear();
    this.version += 1;
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): readonly Answer[] {
    const now = this.clock.now();
    if (options !== undefined) return this.applyWith(action, operations, now, options);
    // The most common request by far.
    if (action === "take" && operations.length === 1 && operations[0].slot === undefined)
      return [this.take(operations[0], now)];
    return this.decide(action, operations, now);
  }

  private known(counter: string, limit: Limit): RuleRows | undefined {
    const all = this.rows.get(counter);
    if (all === undefined) return undefined;
    for (const rows of all) {
      if (rows.limit.algorithm === limit.algorithm && rows.limit.calendar === limit.calendar) return rows;
    }
    return undefined;
  }

  private newRows(counter: string, limit: Limit): RuleRows {
    if (traitsOf(limit).releasable) throw needsSlot(counter);
    const rows = new RuleRows(limit, this.hash, { maxKeys: this.maxKeys, sweep: this.sweep });
    this.rows.set(counter, [...(this.rows.get(counter) ?? []), rows]);
    return rows;
  }

  private applyWith(
    action: Action,
    operations: readonly Operation[],
    now: number,
    options: ApplyOptions,
  ): readonly Answer[] {
    const { idempotencyKey, voidFrom = Number.POSITIVE_INFINITY } = options;
    if (now >= voidFrom) throw new StoreError("HG_STORE_TIMEOUT", "received the request after its deadline");
    if (idempotencyKey === undefined) return this.decide(action, operations, now);
    const { rememberFor = IDEMPOTENCY_WINDOW, forgetsDenial, context } = options;
    const request = fingerprint(action, operations, context);
    const decide = (): readonly Answer[] => this.decide(action, operations, now);
    const identity = operations[0]?.key;
    return this.answered.once(identity, idempotencyKey, request, now, { rememberFor, forgetsDenial }, decide);
  }

  /** Equivalent to `transact`, but locates the row only once. */
  private take(operation: Operation, now: number): Answer {
    const { out } = this;
    const { rule, key, cost } = operation;
    const limit = limitOf(operation);
    this.rowsOf(rule, limit).take(limit, key, cost, now, out);
    const { allowed, remaining, retryAfter, resetAfter } = out;
    return { time: now, allowed, remaining, retryAfter, resetAfter, source: "store", degraded: false };
  }

  private decide(action: Action, operations: readonly Operation[], now: number): readonly Answer[] {
    for (const operation of operations) requireSlots(action, operation);
    const locate = (operation: Operation): Row => {
      const rows = this.rowsFor(operation);
      rows.locate(operation.key, now);
      return rows;
    };
    const arrive = (operation: Operation): Row => {
      const rows = this.rowsFor(operation);
      rows.arrive(operation.key, now);
      return rows;
    };
    return transact(action, operations, now, locate, arrive);
  }

  private rowsFor(operation: Operation): RuleRows | SlotRows {
    const { rule } = operation;
    const limit = limitOf(operation);
    const algorithm = slotAlgorithmOf(limit);
    if (algorithm === undefined) return this.rowsOf(rule, limit);
    const counter = counterOf(rule);
    const known = this.slots.get(counter);
    if (known !== undefined) return known;
    const rows = new SlotRows(algorithm, { maxKeys: this.maxKeys, sweep: this.sweep });
    this.slots.set(counter, rows);
    return rows;
  }
}

function sum(all: readonly (RuleRows | SlotRows)[], name: "keys" | "overflowed"): number {
  return all.reduce((total, rows) => total + rows[name], 0);
}
