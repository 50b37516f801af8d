import type { Limit } from "../limits/limit.ts";
import type { Answer, Rule, Source } from "../stores/store.ts";
import { type Explanation, explain, withLease } from "./explain.ts";

type Numbers = Pick<Answer, "allowed" | "remaining" | "retryAfter" | "resetAfter">;

const NONE: readonly string[] = Object.freeze([]);

/** What a limiter decided about one request and one limit. */
export class Decision<Name extends string = string> {
  readonly allowed: boolean;
  readonly rule: Name;
  readonly cost: number;
  /** How many units each window may pass. */
  readonly limit: number;
  /** What could still be taken now, after this decision. */
  readonly remaining: number;
  /** Until this same request would pass if nobody else came: 0 if it did, Infinity if it never can. */
  readonly retryAfterMs: number;
  /** Until the full quota is there again. */
  readonly resetAfterMs: number;
  readonly source: Source;
  /** Whether the store was not asked, so that the decision may be off. */
  readonly degraded: boolean;
  /** The rules that refused; none if allowed. */
  readonly violated: readonly Name[];
  readonly #limit: Limit;
  /** In microseconds: what is told in milliseconds is rounded once. */
  readonly #time: number;

  /** `time`: the store's clock at the decision, in microseconds since the epoch. */
  constructor(
    rule: RuleWithNames<Name>,
    cost: number,
    outcome: Numbers,
    time: number,
    source: Source,
    degraded: boolean,
    limit: Limit = rule.limit,
  ) {
    this.allowed = outcome.allowed;
    this.rule = rule.name;
    this.cost = cost;
    this.limit = limit.limit;
    this.remaining = outcome.remaining;
    this.retryAfterMs = outcome.retryAfter / 1000;
    this.resetAfterMs = outcome.resetAfter / 1000;
    this.source = source;
    this.degraded = degraded;
    this.violated = outcome.allowed ? (NONE as readonly Name[]) : rule.names;
    this.#limit = limit;
    this.#time = time;
  }

  /** The store's clock at the decision, in milliseconds since the epoch. */
  get timeMs(): number {
    return this.#time / 1000;
  }

  /** When this same request would pass by the store's clock, in whole milliseconds since the epoch; Infinity if never. */
  get retryAtMs(): number {
    return wholeMs(this.#time, this.retryAfterMs);
  }

  /** When the full quota is there again by the store's clock, in whole milliseconds since the epoch. */
  get resetAtMs(): number {
    return wholeMs(this.#time, this.resetAfterMs);
  }

  /** Leaky bucket: how many units stand in the queue with this request; else 0. */
  get queuePosition(): number {
    const { algorithm, burst } = this.#limit;
    return this.allowed && algorithm === "leaky_bucket" ? burst - this.remaining : 0;
  }

  /** Leaky bucket: how long to hold this request so that traffic leaves at a constant rate; else 0. */
  get delayMs(): number {
    const { drain, unit } = this.#limit;
    const ahead = this.queuePosition - this.cost;
    return ahead > 0 ? (ahead * unit) / drain / 1000 : 0;
  }

  /** Which limit decided, how it stands, and when this request would pass; `String()` of it is a sentence. */
  explain(): Explanation {
    return explain(this, this.#limit);
  }
}

/** What was decided by leased quota: it can say how the lease stood. */
export class LeasedDecision<Name extends string = string> extends Decision<Name> {
  readonly #answer: Answer;

  constructor(rule: RuleWithNames<Name>, cost: number, answer: Answer, limit: Limit) {
    super(rule, cost, answer, answer.time, answer.source, answer.degraded, limit);
    this.#answer = answer;
  }

  override explain(): Explanation {
    const { lease } = this.#answer;
    return lease === undefined ? super.explain() : withLease(super.explain(), lease);
  }
}

/** Rounded up, once: waits are whole microseconds, which milliseconds with a fraction only approximate. */
function wholeMs(time: number, waitMs: number): number {
  return Math.ceil((time + Math.round(waitMs * 1000)) / 1000);
}

/** A rule, with its name as the list that a denial gives. */
export interface RuleWithNames<Name extends string> extends Rule {
  readonly name: Name;
  readonly names: readonly Name[];
}
