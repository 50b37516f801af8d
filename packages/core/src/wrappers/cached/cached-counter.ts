import { Outcome } from "../../algorithms/algorithm.ts";
import type { Limit } from "../../limits/limit.ts";
import type { MemoryStore } from "../../stores/memory/memory-store.ts";
import type { RuleRows } from "../../stores/memory/rule-rows.ts";
import type { Rule } from "../../stores/store.ts";
import { KnownQuotas } from "./known-quotas.ts";
import { RememberedDenials } from "./remembered-denials.ts";
import type { Delta, DeltaHome } from "./write-behind.ts";

/**
 * Local state of one counter: what this process admitted, what the store reported, and what is still to be written to
 * the store.
 */
export class CachedCounter implements DeltaHome {
  readonly denials: RememberedDenials;
  readonly quotas: KnownQuotas;
  readonly deltas = new Map<string, Delta>();
  readonly inFlight = new Map<string, number>();
  /** Scratch space for the latest evaluation. */
  private readonly out = new Outcome();
  private readonly rule: Rule;
  private readonly own: MemoryStore;
  private rows: RuleRows;

  /** `own` counts what this process admitted. */
  constructor(rule: Rule, own: MemoryStore, maxKeys: number) {
    this.rule = rule;
    this.own = own;
    this.rows = own.rowsOf(rule, rule.limit);
    this.denials = new RememberedDenials(maxKeys);
    this.quotas = new KnownQuotas(maxKeys);
  }

  /** Whether a request fits into what this process has admitted. The result is valid until the next call. */
  evaluate(limit: Limit, key: string, cost: number, now: number): Outcome {
    const { out } = this;
    const rows = this.rowsUnder(limit);
    rows.locate(key, now);
    const { algorithm, blank, cells, at } = rows;
    if (rows.shared) algorithm.evaluate(limit, blank, 0, now, cost, out);
    else algorithm.evaluate(limit, cells, at, now, cost, out);
    return out;
  }

  /** Like `evaluate`, and counts the request if it fits. A key for which there is no room counts as unused. */
  spend(limit: Limit, key: string, cost: number, now: number): Outcome {
    const { out } = this;
    const rows = this.rowsUnder(limit);
    rows.take(limit, key, cost, now, out);
    if (rows.shared) rows.algorithm.evaluate(limit, rows.blank, 0, now, cost, out);
    return out;
  }

  private rowsUnder(limit: Limit): RuleRows {
    if (limit === this.rows.limit) return this.rows;
    this.rows = this.own.rowsOf(this.rule, limit);
    return this.rows;
  }
}
