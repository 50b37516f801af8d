import { setTimeout as delay } from "node:timers/promises";
import type { Ledger } from "./ledger.ts";
import type { OwnStalls } from "./own-stalls.ts";
import { type SoakRule, soakRules } from "./rules.ts";
import type { SoakCheck, SoakClient, SoakDecision } from "./transports.ts";

/** Identifiers of each rule. Half of the checks are for the first, which is always over its limit. */
const IDENTIFIERS = 40;
const REPEATED = 0.05;

export interface LoadOptions {
  readonly ledger: Ledger;
  readonly random: () => number;
  readonly perSecond: number;
  readonly hasIdempotencyKeys: boolean;
  readonly countsApart: boolean;
  readonly stalls: OwnStalls;
  /** Whether calls may fail at the moment. */
  readonly mayFail: () => boolean;
  readonly broken: (invariant: string, details: string) => void;
}

/** A call that takes longer is given up, and counts as failed. */
const LONGEST_MS = 60_000;

/** Counts of one transport. */
export interface LoadFigures {
  sent: number;
  allowed: number;
  denied: number;
  degraded: number;
  errors: number;
  readonly errorKinds: Map<string, number>;
  longestMs: number;
  lastDegradedAt: number;
}

/** Sends checks at a constant rate on one transport until it is stopped. */
export class Load {
  readonly figures: LoadFigures = {
    sent: 0,
    allowed: 0,
    denied: 0,
    degraded: 0,
    errors: 0,
    errorKinds: new Map(),
    longestMs: 0,
    lastDegradedAt: 0,
  };
  private readonly name: string;
  private readonly client: SoakClient;
  private readonly options: LoadOptions;
  private isStopped = false;

  constructor(name: string, client: SoakClient, options: LoadOptions) {
    this.name = name;
    this.client = client;
    this.options = options;
  }

  /** Resolves when all calls have ended. */
  async run(): Promise<void> {
    const { perSecond } = this.options;
    const calls = new Set<Promise<void>>();
    const start = performance.now();
    for (let i = 0; !this.isStopped; i += 1) {
      const wait = start + (1_000 * i) / perSecond - performance.now();
      if (wait > 0) await delay(wait);
      // A machine that cannot keep up is not sent ever more.
      if (calls.size > 500) await Promise.race(calls);
      const call: Promise<void> = this.send().finally(() => calls.delete(call));
      calls.add(call);
    }
    await Promise.all(calls);
  }

  stop(): void {
    this.isStopped = true;
  }

  private async send(): Promise<void> {
    const { ledger, random, broken } = this.options;
    const rule = soakRules[Math.floor(random() * soakRules.length)];
    const check = this.checkOf(rule);
    const sentAt = Date.now();
    const decision = await this.call(rule, check);
    if (decision === undefined) return;
    ledger.decided(rule, check, decision, Date.now());
    if (check.idempotencyKey === undefined || decision.degraded) return;
    const again = await this.call(rule, check);
    if (again === undefined || again.degraded || ledger.hasLostSince(sentAt)) return;
    if (again.allowed !== decision.allowed || again.resetAtMs !== decision.resetAtMs) {
      const both = `${JSON.stringify(decision)}, then ${JSON.stringify(again)}`;
      broken("a repeated check gets the same decision", `${this.name} ${rule.id} ${check.identifier}: ${both}`);
    }
  }

  private checkOf(rule: SoakRule): SoakCheck {
    const { random, hasIdempotencyKeys, countsApart } = this.options;
    const user = countsApart ? `${this.name}-user` : "user";
    const identifier = `${user}-${random() < 0.5 ? 0 : Math.floor(random() * IDENTIFIERS)}`;
    const cost = random() < 0.8 ? 1 : 1 + Math.floor(random() * 3);
    // Caches and leases answer idempotent checks from the store as well.
    const isRepeated = random() < REPEATED && hasIdempotencyKeys;
    const idempotencyKey = isRepeated ? { idempotencyKey: `soak-${Math.floor(2 ** 48 * random())}` } : {};
    return { identifier, endpoint: rule.endpoint, cost, ...idempotencyKey };
  }

  private async call(rule: SoakRule, check: SoakCheck): Promise<SoakDecision | undefined> {
    const { figures } = this;
    const { ledger, mayFail, broken, stalls } = this.options;
    const start = performance.now() - stalls.totalMs;
    figures.sent += 1;
    const couldFail = mayFail();
    try {
      const decision = await withinLimit(this.client.check(check));
      if (decision.allowed) figures.allowed += 1;
      else figures.denied += 1;
      if (decision.degraded) {
        figures.degraded += 1;
        figures.lastDegradedAt = Date.now();
      }
      return decision;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      figures.errors += 1;
      figures.errorKinds.set(message, 1 + (figures.errorKinds.get(message) ?? 0));
      ledger.failed(rule, check, Date.now());
      // Calls may fail while a worker is killed, but not in silence.
      if (error instanceof NoAnswer || (!couldFail && !mayFail()))
        broken("a check gets an answer", `${this.name}: ${message}`);
      return undefined;
    } finally {
      figures.longestMs = Math.max(figures.longestMs, performance.now() - stalls.totalMs - start);
    }
  }
}

class NoAnswer extends Error {}

async function withinLimit<Result>(call: Promise<Result>): Promise<Result> {
  const over = new AbortController();
  const late = delay(LONGEST_MS, undefined, { signal: over.signal }).then(() => {
    throw new NoAnswer(`no answer within ${LONGEST_MS / 1_000} s`);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    late.catch(() => {});
    over.abort();
  }
}
