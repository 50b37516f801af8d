import type { RollupTable } from "../database/database.ts";
import type { RuleTally, Tally } from "./decision-counts.ts";
import type { Rollup } from "./rollup.ts";

/** Maximum number of rows to keep while the database is down; beyond it, the oldest are dropped and counted. */
const MOST_WAITING = 100_000;

interface Counts {
  readonly allowed: number;
  readonly denied: number;
  readonly shadow_denied: number;
  readonly candidate_denied: number;
}

const NOTHING: Counts = { allowed: 0, denied: 0, shadow_denied: 0, candidate_denied: 0 };

/**
 * Writes the decisions of each rule per minute and day. It reads existing counters, so checks cost nothing extra.
 * Counts not yet written are lost with the process, so it writes often.
 */
export class RollupWriter {
  /** Rows that were dropped because they could not be written. */
  dropped = 0;
  private readonly tally: Tally;
  private readonly table: Pick<RollupTable, "add">;
  private readonly seen = new Map<string, Counts>();
  private waiting = new Map<string, Rollup>();
  private since: Date;
  private writing: Promise<void> = Promise.resolve();

  constructor(tally: Tally, table: Pick<RollupTable, "add">, now: Date) {
    this.tally = tally;
    this.table = table;
    this.since = now;
  }

  /** Writes one batch at a time, including at shutdown. Throws if the database fails; unwritten rows are kept. */
  flush(now: Date): Promise<void> {
    this.collect(now);
    this.writing = this.writing.catch(() => {}).then(() => this.write());
    return this.writing;
  }

  /** Assigns decisions since the last call to their minute: intervals do not cross minutes. */
  private collect(now: Date): void {
    const at = this.since.toISOString();
    const periods: Pick<Rollup, "period" | "start">[] = [
      { period: "minute", start: `${at.slice(0, 16)}:00.000Z` },
      { period: "day", start: `${at.slice(0, 10)}T00:00:00.000Z` },
    ];
    for (const [ruleId, tally] of this.tally.rules) {
      const counts = countsOf(tally);
      const more = difference(counts, this.seen.get(ruleId) ?? NOTHING);
      this.seen.set(ruleId, counts);
      if (more.allowed + more.denied + more.shadow_denied + more.candidate_denied === 0) continue;
      for (const period of periods) this.wait({ ...period, rule_id: ruleId, ...more });
    }
    this.since = now;
  }

  private wait(rollup: Rollup): void {
    const name = `${rollup.period} ${rollup.start} ${rollup.rule_id}`;
    this.waiting.set(name, sum(this.waiting.get(name), rollup));
    if (this.waiting.size <= MOST_WAITING) return;
    for (const oldest of this.waiting.keys()) {
      this.waiting.delete(oldest);
      this.dropped += 1;
      return;
    }
  }

  private async write(): Promise<void> {
    if (this.waiting.size === 0) return;
    const sent = this.waiting;
    this.waiting = new Map();
    try {
      await this.table.add([...sent.values()]);
    } catch (error) {
      const later = [...this.waiting.values()];
      this.waiting = sent;
      for (const rollup of later) this.wait(rollup);
      throw error;
    }
  }
}

function countsOf({ allowed, denied, shadowDenied, candidateDenied }: RuleTally): Counts {
  const trials = { shadow_denied: shadowDenied, candidate_denied: candidateDenied };
  return { allowed: total(allowed), denied: total(denied), ...trials };
}

function total(counts: Float64Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

function difference(now: Counts, before: Counts): Counts {
  return {
    allowed: now.allowed - before.allowed,
    denied: now.denied - before.denied,
    shadow_denied: now.shadow_denied - before.shadow_denied,
    candidate_denied: now.candidate_denied - before.candidate_denied,
  };
}

function sum(waiting: Rollup | undefined, more: Rollup): Rollup {
  if (waiting === undefined) return more;
  return {
    ...more,
    allowed: waiting.allowed + more.allowed,
    denied: waiting.denied + more.denied,
    shadow_denied: waiting.shadow_denied + more.shadow_denied,
    candidate_denied: waiting.candidate_denied + more.candidate_denied,
  };
}
