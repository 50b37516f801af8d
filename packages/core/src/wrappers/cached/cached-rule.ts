import { type Algorithm, Outcome } from "../../algorithms/algorithm.ts";
import type { Ledger } from "../../stores/memory/rule-rows.ts";
import type { Rule } from "../../stores/store.ts";
import { KnownQuotas } from "./known-quotas.ts";
import { Denials } from "./remembered-denials.ts";
import type { Delta, DeltaHome } from "./write-behind.ts";

/** What this process knows of one rule: what it let in itself, what the store said, and what the store is still to be told. */
export class LocalRule implements DeltaHome {
  rule: Rule;
  readonly denials: Denials;
  readonly quotas: KnownQuotas;
  readonly deltas = new Map<string, Delta>();
  readonly inFlight = new Map<string, number>();
  /** What was evaluated last. */
  readonly out = new Outcome();
  private ledger: Ledger;
  private algorithm: Algorithm;
  private blank: Float64Array;

  constructor(rule: Rule, ledger: Ledger, maxKeys: number) {
    this.rule = rule;
    this.ledger = ledger;
    this.denials = new Denials(maxKeys);
    this.quotas = new KnownQuotas(maxKeys);
    this.algorithm = ledger.algorithm;
    this.blank = Float64Array.from(this.algorithm.blank);
  }

  /** Goes on under another limit, about which the store has said nothing yet. */
  use(rule: Rule, ledger: Ledger): void {
    this.rule = rule;
    this.ledger = ledger;
    this.algorithm = ledger.algorithm;
    this.blank = Float64Array.from(this.algorithm.blank);
    this.denials.clear();
    this.quotas.clear();
  }

  /** Whether a request fits into what this process has let in; into `out`. */
  evaluate(key: string, cost: number, now: number): Outcome {
    const { ledger, out } = this;
    ledger.locate(key, now);
    if (ledger.shared) this.algorithm.evaluate(this.rule.limit, this.blank, 0, now, cost, out);
    else this.algorithm.evaluate(this.rule.limit, ledger.cells, ledger.at, now, cost, out);
    return out;
  }

  /** The same, and counts the request if it fits. A key for which there is no room counts as unused. */
  spend(key: string, cost: number, now: number): Outcome {
    const { ledger, out } = this;
    ledger.take(this.rule.limit, key, cost, now, out);
    if (ledger.shared) this.algorithm.evaluate(this.rule.limit, this.blank, 0, now, cost, out);
    return out;
  }
}
