import type { Source } from "../stores/store.ts";
import type { Decision } from "./decision.ts";
import type { Explanation } from "./explain.ts";

/**
 * The result of checking one request against several rules. Its numbers are those of the decision that matters most:
 * the denial with the longest wait, otherwise the decision with the least left.
 */
export class Verdict<Name extends string = string> {
  /** Whether the request may proceed: whether all rules allowed it. */
  readonly allowed: boolean;
  /** The rule of the decision that matters most. */
  readonly rule: Name;
  /** Units per window under that rule. */
  readonly limit: number;
  /** Units left under that rule. */
  readonly remaining: number;
  /** Milliseconds until the same request would be allowed. 0 if it was allowed, Infinity if it can never be. */
  readonly retryAfterMs: number;
  /** Milliseconds until the full quota of that rule is available again. */
  readonly resetAfterMs: number;
  /** What decided under that rule: the store, a lease, a cache, or a fallback while the store failed. */
  readonly source: Source;
  /** Whether any of the decisions was made without the store, so that it may be inaccurate. */
  readonly degraded: boolean;
  /** The rules that denied the request. Empty if it was allowed. */
  readonly deniedBy: readonly Name[];
  /** The decision of each rule, in the order of the checks. */
  readonly decisions: readonly Decision<Name>[];
  readonly #deciding: Decision<Name>;

  constructor(decisions: readonly Decision<Name>[]) {
    const deciding = decisions.length === 1 ? decisions[0] : decisions.reduce(tighter);
    this.allowed = deciding.allowed;
    this.rule = deciding.rule;
    this.limit = deciding.limit;
    this.remaining = deciding.remaining;
    this.retryAfterMs = deciding.retryAfterMs;
    this.resetAfterMs = deciding.resetAfterMs;
    this.source = deciding.source;
    this.degraded = decisions.some(isDegraded);
    this.deniedBy = deciding.allowed ? NONE : decisions.filter(isDenied).map(({ rule }) => rule);
    this.decisions = decisions;
    this.#deciding = deciding;
  }

  /** The decision that matters most. */
  get deciding(): Decision<Name> {
    return this.#deciding;
  }

  /** The store's time of the decision, in milliseconds since the epoch. */
  get timeMs(): number {
    return this.#deciding.timeMs;
  }

  /**
   * When the same request would be allowed, on the store's clock: whole milliseconds since the epoch, Infinity if
   * never.
   */
  get retryAtMs(): number {
    return this.#deciding.retryAtMs;
  }

  /** When the full quota is available again, on the store's clock: whole milliseconds since the epoch. */
  get resetAtMs(): number {
    return this.#deciding.resetAtMs;
  }

  /** Whether `retryAfterMs` is an upper bound, because a concurrency limit decided. */
  get retryIsUpperBound(): boolean {
    return this.#deciding.retryIsUpperBound;
  }

  /** Explains the decision that matters most. Converted to a string, it is a sentence. */
  explain(): Explanation {
    return this.#deciding.explain();
  }
}

const NONE: readonly never[] = Object.freeze([]);

function isDegraded({ degraded }: Decision): boolean {
  return degraded;
}

function isDenied({ allowed }: Decision): boolean {
  return !allowed;
}

function tighter<Name extends string>(a: Decision<Name>, b: Decision<Name>): Decision<Name> {
  if (a.allowed !== b.allowed) return a.allowed ? b : a;
  if (!a.allowed) return b.retryAfterMs > a.retryAfterMs ? b : a;
  return b.remaining < a.remaining ? b : a;
}
