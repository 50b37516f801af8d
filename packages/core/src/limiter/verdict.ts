import type { Source } from "../stores/store.ts";
import type { Decision } from "./decision.ts";
import type { Explanation } from "./explain.ts";

/**
 * What a limiter decided about one request and several limits. The numbers are those of the limit
 * that decided: of the refusals the one with the longest wait, else the one with the least left.
 */
export class Verdict<Name extends string = string> {
  readonly allowed: boolean;
  readonly rule: Name;
  readonly limit: number;
  readonly remaining: number;
  readonly retryAfterMs: number;
  readonly resetAfterMs: number;
  readonly source: Source;
  readonly degraded: boolean;
  /** The rules that refused; none if allowed. */
  readonly violated: readonly Name[];
  /** Each limit on its own, in the order asked. */
  readonly decisions: readonly Decision<Name>[];
  readonly #deciding: Decision<Name>;

  constructor(decisions: readonly Decision<Name>[]) {
    const deciding = decisions.reduce(tighter);
    this.allowed = deciding.allowed;
    this.rule = deciding.rule;
    this.limit = deciding.limit;
    this.remaining = deciding.remaining;
    this.retryAfterMs = deciding.retryAfterMs;
    this.resetAfterMs = deciding.resetAfterMs;
    this.source = deciding.source;
    this.degraded = decisions.some((decision) => decision.degraded);
    this.violated = decisions.filter((decision) => !decision.allowed).map((decision) => decision.rule);
    this.decisions = decisions;
    this.#deciding = deciding;
  }

  /** The store's clock at the decision, in milliseconds since the epoch. */
  get timeMs(): number {
    return this.#deciding.timeMs;
  }

  /** When this same request would pass by the store's clock, in whole milliseconds since the epoch; Infinity if never. */
  get retryAtMs(): number {
    return this.#deciding.retryAtMs;
  }

  /** When the full quota is there again by the store's clock, in whole milliseconds since the epoch. */
  get resetAtMs(): number {
    return this.#deciding.resetAtMs;
  }

  explain(): Explanation {
    return this.#deciding.explain();
  }
}

function tighter<Name extends string>(a: Decision<Name>, b: Decision<Name>): Decision<Name> {
  if (a.allowed !== b.allowed) return a.allowed ? b : a;
  if (!a.allowed) return b.retryAfterMs > a.retryAfterMs ? b : a;
  return b.remaining < a.remaining ? b : a;
}
