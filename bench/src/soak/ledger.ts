import type { SoakRule } from "./rules.ts";
import type { SoakCheck, SoakDecision } from "./transports.ts";

/** What was decided for one key in one window. */
interface Window {
  readonly rule: SoakRule;
  readonly endMs: number;
  /** Whether it is known which decisions the fallback made. Otherwise, they count as the store's. */
  readonly isTold: boolean;
  /** Units that the store, a lease or a cache admitted. */
  admitted: number;
  /** Units that the fallback admitted. */
  fallback: number;
  /** The least cost that was denied while the store answered. */
  leastDenied: number;
}

export interface LedgerOptions {
  /** How many processes count. */
  readonly workers: number;
  readonly windowMs: number;
  readonly broken: (invariant: string, details: string) => void;
}

/** Something that happened to one key, or to all. */
interface Incident {
  readonly atMs: number;
  readonly key?: string;
  readonly cost?: number;
}

/** How far from a window an incident still counts: clients hear of a decision later than it is made. */
const MARGIN_MS = 5_000;

/** Keeps account of every decision and checks each window once it is over. */
export class Ledger {
  /** Windows that were checked. */
  checked = 0;
  private readonly windows = new Map<string, Window>();
  /** Units that may have been charged although no decision of the store says so. */
  private uncertain: Required<Incident>[] = [];
  /** When the store lost its data, or a process that holds leases was killed. */
  private losses: Incident[] = [];
  /** When a decision was made without the store. */
  private degraded: Incident[] = [];
  private readonly options: LedgerOptions;

  constructor(options: LedgerOptions) {
    this.options = options;
  }

  decided(rule: SoakRule, check: SoakCheck, decision: SoakDecision, atMs: number): void {
    const { windowMs, broken } = this.options;
    const { identifier, cost } = check;
    const { allowed, resetAtMs, degraded } = decision;
    if (resetAtMs === undefined) {
      if (allowed) this.failed(rule, check, atMs);
      return;
    }
    if (degraded) {
      if (allowed && rule.onError === "deny")
        broken("deny admits nothing without the store", `${rule.id} ${identifier}`);
      this.degraded.push({ atMs });
      // The store may have charged it, and its reply came too late.
      this.failed(rule, check, atMs);
    }
    const endMs = Math.round(resetAtMs / windowMs) * windowMs;
    const name = `${keyOf(rule, check)} ${endMs}`;
    let window = this.windows.get(name);
    if (window === undefined) {
      const isTold = degraded !== undefined;
      window = { rule, endMs, isTold, admitted: 0, fallback: 0, leastDenied: Number.POSITIVE_INFINITY };
      this.windows.set(name, window);
    }
    if (degraded) window.fallback += allowed ? cost : 0;
    else if (allowed) window.admitted += cost;
    else window.leastDenied = Math.min(window.leastDenied, cost);
  }

  /** A call failed: its units may have been charged. */
  failed(rule: SoakRule, check: SoakCheck, atMs: number): void {
    this.uncertain.push({ atMs, key: keyOf(rule, check), cost: check.cost });
  }

  lost(atMs: number): void {
    this.losses.push({ atMs });
  }

  /** Whether the store may have forgotten something since. */
  hasLostSince(ms: number): boolean {
    return this.losses.some(({ atMs }) => atMs >= ms);
  }

  /** Checks the windows that ended a while ago, and forgets them. */
  settle(nowMs: number, graceMs: number): void {
    for (const [name, window] of this.windows) {
      if (window.endMs + graceMs > nowMs) continue;
      this.windows.delete(name);
      this.checked += 1;
      this.check(name, window);
    }
    const isRecent = ({ atMs }: Incident): boolean => atMs > nowMs - graceMs - 3 * this.options.windowMs;
    this.uncertain = this.uncertain.filter(isRecent);
    this.losses = this.losses.filter(isRecent);
    this.degraded = this.degraded.filter(isRecent);
  }

  private check(name: string, { rule, endMs, isTold, admitted, fallback, leastDenied }: Window): void {
    const { workers, windowMs, broken } = this.options;
    const isNear = ({ atMs }: Incident): boolean => atMs >= endMs - windowMs - MARGIN_MS && atMs <= endMs + MARGIN_MS;
    const losses = this.losses.filter(isNear).length;
    const isCached = rule.consistency === "cached";
    const hadTrouble = this.degraded.some(isNear);
    // Each process of a cached rule may count on its own until it hears of the others, and does not repeat a write
    // whose reply is missing.
    const unheard = isCached ? workers - 1 + (hadTrouble ? 1 : 0) : 0;
    const most = rule.limit * (1 + losses + unheard + (!isTold && hadTrouble ? 1 : 0));
    if (admitted > most) broken("no window admits more than its limit", `${name}: ${admitted} of ${most}`);
    if (fallback > rule.limit) broken("the fallback admits at most the limit", `${name}: ${fallback} of ${rule.limit}`);
    // What one process leased is not there for another, and goes back only after a while.
    const isUnclear = hadTrouble && (isCached || !isTold);
    const isExplained = losses > 0 || rule.consistency === "leased" || isUnclear;
    if (leastDenied === Number.POSITIVE_INFINITY || isExplained) return;
    const key = name.slice(0, name.lastIndexOf(" "));
    const maybe = this.uncertain
      .filter((each) => each.key === key && isNear(each))
      .reduce((sum, { cost }) => sum + cost, 0);
    if (admitted + maybe + leastDenied <= rule.limit) {
      const used = `${admitted} admitted and ${maybe} uncertain`;
      broken("a denial is due to the limit", `${name}: cost ${leastDenied} denied with ${used} of ${rule.limit}`);
    }
  }
}

function keyOf({ endpoint }: SoakRule, { identifier }: SoakCheck): string {
  return `${endpoint} ${identifier}`;
}
