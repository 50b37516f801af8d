import { Outcome } from "../../algorithms/algorithm.ts";
import { type Clock, requireClock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { HeadgateError, StoreError, shown } from "../../errors.ts";
import { type Limit, sameLimit } from "../../limits/limit.ts";
import { requireOptions } from "../../options.ts";
import { fingerprint, IDEMPOTENCY_WINDOW } from "../idempotency.ts";
import type { Action, Answer, ApplyOptions, Operation, Rule, Store } from "../store.ts";
import { transact } from "../transact.ts";
import { AnsweredRequests } from "./idempotency-records.ts";
import { KeyHash } from "./key-hash.ts";
import { Ledger } from "./rule-rows.ts";

const DEFAULT_MAX_KEYS = 4_000_000;
const DEFAULT_MAX_IDEMPOTENCY_KEYS = 250_000;

export interface MemoryStoreOptions {
  /** How many keys of each rule are told apart (default 4,000,000). Keys beyond share one quota; none that is limited is forgotten. */
  readonly maxKeys?: number | undefined;
  /** How many requests are remembered by their idempotency keys (default 250,000). At the bound the oldest are forgotten, and counted. */
  readonly maxIdempotencyKeys?: number | undefined;
  /** Where the time comes from. Default: the system's clock. */
  readonly clock?: Clock | undefined;
  /** Whether to forget keys whose quota is full again (default true). Turn it off where times are not in order between keys. */
  readonly sweep?: boolean | undefined;
}

const OPTIONS: ReadonlySet<string> = new Set(["maxKeys", "maxIdempotencyKeys", "clock", "sweep"]);

/** Keeps what was used in this process. Every answer comes at once, without a promise. */
export class MemoryStore implements Store {
  readonly clock: Clock;
  private readonly maxKeys: number;
  private readonly sweep: boolean;
  private readonly hash = new KeyHash();
  private readonly ledgers = new Map<string, Ledger>();
  private readonly answered: AnsweredRequests;
  private readonly out = new Outcome();
  /** Grows whenever the limit of a rule changes. */
  version = 0;

  constructor(options: MemoryStoreOptions = {}) {
    requireOptions(options, OPTIONS);
    const { clock = new SystemClock(), sweep = true } = options;
    const { maxKeys = DEFAULT_MAX_KEYS, maxIdempotencyKeys = DEFAULT_MAX_IDEMPOTENCY_KEYS } = options;
    for (const [name, bound] of Object.entries({ maxKeys, maxIdempotencyKeys })) {
      if (Number.isSafeInteger(bound) && bound >= 1) continue;
      throw new HeadgateError("HG_BAD_OPTION", name, `must be a whole number of at least 1, got ${shown(bound)}`);
    }
    if (typeof sweep !== "boolean") {
      throw new HeadgateError("HG_BAD_OPTION", "sweep", `must be true or false, got ${shown(sweep)}`);
    }
    requireClock(clock);
    this.clock = clock;
    this.maxKeys = maxKeys;
    this.sweep = sweep;
    this.answered = new AnsweredRequests(maxIdempotencyKeys, this.hash);
  }

  /** For each rule, how many keys it holds, and how many checks found no room and shared a quota. */
  get stats(): Record<string, { readonly keys: number; readonly overflowed: number }> {
    return Object.fromEntries([...this.ledgers].map(([name, { keys, overflowed }]) => [name, { keys, overflowed }]));
  }

  /** How many requests are remembered by their idempotency keys, and how many were forgotten early, for want of room. */
  get idempotency(): { readonly remembered: number; readonly forgotten: number } {
    const { size, forgotten } = this.answered;
    return { remembered: size, forgotten };
  }

  /** Makes ready for a rule. Those who share a store must mean the same by a name. */
  open(rule: Rule): void {
    const known = this.limitOf(rule.name);
    if (known === undefined) this.ledger(rule);
    else if (!sameLimit(known, rule.limit)) {
      throw new HeadgateError(
        "HG_BAD_RULES",
        `rules.${rule.name}`,
        "is kept in this store under another limit: limiters that share a store must agree on it, or use another name",
      );
    }
  }

  /** The limit that a rule has here, if it is known. */
  limitOf(name: string): Limit | undefined {
    return this.ledgers.get(name)?.limit;
  }

  /** The rows of a rule. If its limit has changed they go on under the new one; another algorithm starts anew. */
  ledger(rule: Rule): Ledger {
    const known = this.ledgers.get(rule.name);
    if (known?.limit === rule.limit) return known;
    this.version += 1;
    if (known?.limit.algorithm === rule.limit.algorithm) {
      known.use(rule.limit);
      return known;
    }
    return this.newLedger(rule.name, rule.limit);
  }

  /** Forgets what every key of every rule has used. */
  resetAll(): void {
    for (const [name, { limit }] of [...this.ledgers]) this.newLedger(name, limit);
    this.version += 1;
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): readonly Answer[] {
    const now = this.clock.now();
    if (options !== undefined) return this.applyWith(action, operations, now, options);
    // Nearly every request is this one.
    if (action === "take" && operations.length === 1) return [this.take(operations[0], now)];
    return this.decide(action, operations, now);
  }

  private newLedger(name: string, limit: Limit): Ledger {
    const ledger = new Ledger(limit, this.hash, { maxKeys: this.maxKeys, sweep: this.sweep });
    this.ledgers.set(name, ledger);
    return ledger;
  }

  private applyWith(
    action: Action,
    operations: readonly Operation[],
    now: number,
    options: ApplyOptions,
  ): readonly Answer[] {
    const { idempotencyKey, voidFrom = Number.POSITIVE_INFINITY } = options;
    if (now >= voidFrom) throw new StoreError("HG_STORE_TIMEOUT", "was asked too late: the request's time is over");
    if (idempotencyKey === undefined) return this.decide(action, operations, now);
    const { rememberFor = IDEMPOTENCY_WINDOW, context } = options;
    const request = fingerprint(action, operations, context);
    const decide = (): readonly Answer[] => this.decide(action, operations, now);
    return this.answered.once(operations[0]?.key, idempotencyKey, request, now, rememberFor, decide);
  }

  /** What `transact` would do, with its row located once. */
  private take({ rule, key, cost }: Operation, now: number): Answer {
    const { out } = this;
    this.ledger(rule).take(rule.limit, key, cost, now, out);
    const { allowed, remaining, retryAfter, resetAfter } = out;
    return { time: now, allowed, remaining, retryAfter, resetAfter, source: "store", degraded: false };
  }

  private decide(action: Action, operations: readonly Operation[], now: number): readonly Answer[] {
    const locate = ({ rule, key }: Operation): Ledger => {
      const ledger = this.ledger(rule);
      ledger.locate(key, now);
      return ledger;
    };
    const arrive = ({ rule, key }: Operation): Ledger => {
      const ledger = this.ledger(rule);
      ledger.arrive(key, now);
      return ledger;
    };
    return transact(action, operations, now, locate, arrive);
  }
}
