import { traitsOf } from "../algorithms/lookup.ts";
import type { Limit } from "../limits/limit.ts";
import { windowLength } from "../limits/window-end.ts";
import type { Answer, Rule, Source } from "../stores/store.ts";
import { type Explanation, explain, withLease, withSlots } from "./explain.ts";

type Numbers = Pick<Answer, "allowed" | "remaining" | "retryAfter" | "resetAfter">;

const NONE: readonly never[] = Object.freeze([]);
/** Not a private field: with one, a check of one key in memory takes a third longer. */
const LIMIT = Symbol("limit");

/** How close a key is to its limit: below the warning threshold, above it, or at the limit. */
export type UsageState = "normal" | "warning" | "throttled";

/** Sets the state of a decision. Only `UsageStates` does. */
export function setState(decision: { -readonly [Field in "state"]: Decision[Field] }, state: UsageState): void {
  decision.state = state;
}

/** Keys of decisions about one of several alternatives: a field would cost every decision. */
const keys = new WeakMap<Decision, string>();

/** Sets the key of a decision. Only `firstOf` does: all others have the key that their caller gave. */
export function setKey(decision: Decision, key: string): void {
  keys.set(decision, key);
}

/** Names the rules that denied a request, if there are several of them. Only `firstOf` does. */
export function setDeniedBy<Name extends string>(
  decision: { -readonly [Field in "deniedBy"]: Decision<Name>[Field] },
  rules: readonly Name[],
): void {
  decision.deniedBy = rules;
}

/** The result of a check. */
export class Decision<Name extends string = string> {
  /** Whether the request may proceed. */
  readonly allowed: boolean;
  /** The rule that was checked. */
  readonly rule: Name;
  /** The cost that was checked. */
  readonly cost: number;
  /** Units per window. */
  readonly limit: number;
  /** Units left after this decision. Some algorithms report fractions; only whole units can be used. */
  readonly remaining: number;
  /**
   * Milliseconds until the same request would be allowed if no other request came in between. 0 if it was allowed,
   * Infinity if it can never be.
   */
  readonly retryAfterMs: number;
  /** Milliseconds until the full quota is available again. */
  readonly resetAfterMs: number;
  /** What decided: the store, a lease, a cache, or a fallback while the store failed. */
  readonly source: Source;
  /** Whether the store could not be asked, so that the decision may be inaccurate. */
  readonly degraded: boolean;
  /** The rules that denied the request. Empty if it was allowed. */
  readonly deniedBy: readonly Name[];
  /** How close the key is to its limit, if the middleware or the service made the decision. Otherwise `normal`. */
  declare readonly state: UsageState;
  /** The store's time of the decision, in milliseconds since the epoch. */
  readonly timeMs: number;
  readonly [LIMIT]: Limit;

  /** `time`: the store's clock at the decision, in microseconds since the epoch. */
  constructor(
    rule: Rule<Name>,
    cost: number,
    outcome: Numbers,
    time: number,
    source: Source,
    degraded: boolean,
    limit: Limit,
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
    this.deniedBy = outcome.allowed ? NONE : alone(rule.name);
    this.timeMs = time / 1000;
    this[LIMIT] = limit;
  }

  /** Maximum number of units that can be available at once. */
  get burst(): number {
    return this[LIMIT].burst;
  }

  /** Length of the window in milliseconds. With a calendar, the length of the window at the time of the decision. */
  get windowMs(): number {
    return windowLength(this[LIMIT], microseconds(this.timeMs)) / 1000;
  }

  /**
   * When the same request would be allowed, on the store's clock: whole milliseconds since the epoch, Infinity if
   * never.
   */
  get retryAtMs(): number {
    return wholeMs(this.timeMs, this.retryAfterMs);
  }

  /** When the full quota is available again, on the store's clock: whole milliseconds since the epoch. */
  get resetAtMs(): number {
    return wholeMs(this.timeMs, this.resetAfterMs);
  }

  /** Leaky bucket: units in the queue, including this request. Otherwise 0. */
  get queuePosition(): number {
    return this.allowed && traitsOf(this[LIMIT]).queue ? this[LIMIT].burst - this.remaining : 0;
  }

  /** Leaky bucket: milliseconds to delay this request so that traffic leaves at a constant rate. Otherwise 0. */
  get delayMs(): number {
    const { drain, unit } = this[LIMIT];
    const ahead = this.queuePosition - this.cost;
    return ahead > 0 ? (ahead * unit) / drain / 1000 : 0;
  }

  /** Concurrency limit: slots in use after this decision. Otherwise undefined. */
  get inUse(): number | undefined {
    return undefined;
  }

  /** Concurrency limit: whether `retryAfterMs` is an upper bound, because slots may be released earlier. */
  get retryIsUpperBound(): boolean {
    return false;
  }

  /** Position in line, from 1, if this is the decision of a reservation that waited. Otherwise undefined. */
  get queued(): number | undefined {
    return places.get(this);
  }

  /** The key of the check that decided, if this is the decision of `firstOf`. Otherwise undefined. */
  get key(): string | undefined {
    return keys.get(this);
  }

  /** Describes the limit, its state and when the request would be allowed. Converted to a string, it is a sentence. */
  explain(): Explanation {
    return explain(this, this[LIMIT]);
  }
}

Object.defineProperty(Decision.prototype, "state", { value: "normal" satisfies UsageState, writable: true });

/** Places in line, of the few decisions that waited: a field would cost every decision. */
const places = new WeakMap<Decision, number>();

export function setQueued(decision: Decision, queued: number): void {
  places.set(decision, queued);
}

/** A decision on slots. */
export class SlotDecision<Name extends string = string> extends Decision<Name> {
  readonly #answer: Answer;

  constructor(rule: Rule<Name>, cost: number, answer: Answer, limit: Limit) {
    super(rule, cost, answer, answer.time, answer.source, answer.degraded, limit);
    this.#answer = answer;
  }

  override get inUse(): number | undefined {
    return this.#answer.inUse;
  }

  override get retryIsUpperBound(): boolean {
    return this.#answer.retryIsUpperBound === true;
  }

  override explain(): Explanation {
    return withSlots(super.explain(), this.inUse, this.retryIsUpperBound);
  }
}

/** A decision made with leased quota, which can describe the lease. */
export class LeasedDecision<Name extends string = string> extends Decision<Name> {
  readonly #answer: Answer;

  constructor(rule: Rule<Name>, cost: number, answer: Answer, limit: Limit) {
    super(rule, cost, answer, answer.time, answer.source, answer.degraded, limit);
    this.#answer = answer;
  }

  override explain(): Explanation {
    const { lease } = this.#answer;
    return lease === undefined ? super.explain() : withLease(super.explain(), lease);
  }
}

/** Rounded up once, from whole microseconds. */
function wholeMs(timeMs: number, waitMs: number): number {
  return Math.ceil((microseconds(timeMs) + microseconds(waitMs)) / 1000);
}

/** Times are whole microseconds, which fractional milliseconds only approximate. */
function microseconds(ms: number): number {
  return Math.round(ms * 1000);
}

/** A function, because an array literal in the constructor makes checks in memory a quarter slower. */
function alone<Name extends string>(rule: Name): readonly Name[] {
  return [rule];
}
