import type { ExpressionBuilder } from "kysely";
import type { Rollup, RollupQuery, SummaryQuery, UsageSeries, UsageSummary } from "../metrics/rollup.ts";
import { type AuditedDatabase, inParts } from "./audited-writes.ts";
import { cursorAtPair, pairOf } from "./cursor.ts";
import type { Paged, RollupTable } from "./database.ts";
import { millisecondsOf } from "./sql-time.ts";
import { canBeId } from "./storable-text.ts";
import type { Tables } from "./tables.ts";

export class SqlRollups implements RollupTable {
  private readonly audited: AuditedDatabase;

  constructor(audited: AuditedDatabase) {
    this.audited = audited;
  }

  async add(rollups: readonly Rollup[]): Promise<void> {
    const rows = summed(rollups);
    if (rows.length === 0) return;
    await this.audited.tally((db) =>
      inParts(rows, (some) =>
        db
          .insertInto("headgate_rollups")
          .values(some)
          .onConflict((conflict) =>
            conflict.columns(["period", "start", "rule_id"]).doUpdateSet(({ eb, ref }) => ({
              allowed: eb("headgate_rollups.allowed", "+", ref("excluded.allowed")),
              denied: eb("headgate_rollups.denied", "+", ref("excluded.denied")),
              shadow_denied: eb("headgate_rollups.shadow_denied", "+", ref("excluded.shadow_denied")),
              candidate_denied: eb("headgate_rollups.candidate_denied", "+", ref("excluded.candidate_denied")),
            })),
          )
          .execute(),
      ),
    );
  }

  async query({ period, rule_id, from, to, limit, cursor }: RollupQuery): Promise<Paged<Rollup>> {
    const after = cursor === undefined ? undefined : pairOf(cursor);
    if (rule_id !== undefined && !canBeId(rule_id)) return { items: [] };
    return this.audited.read(async (db) => {
      let query = db
        .selectFrom("headgate_rollups")
        .selectAll()
        .where("period", "=", period)
        .where("start", ">=", millisecondsOf("from", from))
        .where("start", "<", millisecondsOf("to", to));
      if (rule_id !== undefined) query = query.where("rule_id", "=", rule_id);
      if (after !== undefined) {
        const [start, last] = after;
        query = query
          .where("start", ">=", start)
          .where(({ eb, or }) => or([eb("start", ">", start), eb("rule_id", ">", last)]));
      }
      const rows = await query
        .orderBy("start")
        .orderBy("rule_id")
        .limit(limit + 1)
        .execute();
      const items = rows.slice(0, limit).map((row) => ({ ...row, start: new Date(row.start).toISOString() }));
      const last = rows.length > limit ? rows[limit - 1] : undefined;
      return last === undefined ? { items } : { items, next: cursorAtPair(last.start, last.rule_id) };
    });
  }

  async summary({ period, from, to, limit }: SummaryQuery): Promise<UsageSummary> {
    return this.audited.read(async (db) => {
      const within = db
        .selectFrom("headgate_rollups")
        .where("period", "=", period)
        .where("start", ">=", millisecondsOf("from", from))
        .where("start", "<", millisecondsOf("to", to));
      const sums = ({ fn }: ExpressionBuilder<Tables, "headgate_rollups">) =>
        COUNTS.map((name) => fn.sum<number>(name).as(name));
      const totals = await within.select("start").select(sums).groupBy("start").orderBy("start").execute();
      const worst = await within
        .select("rule_id")
        .select(sums)
        .groupBy("rule_id")
        .orderBy("denied", "desc")
        .orderBy("shadow_denied", "desc")
        .orderBy("candidate_denied", "desc")
        .orderBy("allowed", "desc")
        .orderBy("rule_id")
        .limit(limit)
        .execute();
      const ids = worst.map(({ rule_id }) => rule_id);
      const rows = ids.length === 0 ? [] : await within.selectAll().where("rule_id", "in", ids).execute();
      const places = new Map(totals.map(({ start }, i) => [start, i]));
      const rules = new Map(ids.map((rule_id) => [rule_id, { rule_id, ...emptySeries(totals.length) }]));
      for (const row of rows) {
        const series = rules.get(row.rule_id);
        const place = places.get(row.start);
        if (series === undefined || place === undefined) continue;
        for (const name of COUNTS) series[name][place] = row[name];
      }
      const total = emptySeries(totals.length);
      // Sums are text on PostgreSQL.
      for (const [i, row] of totals.entries()) for (const name of COUNTS) total[name][i] = Number(row[name]);
      return { starts: totals.map(({ start }) => new Date(start).toISOString()), total, rules: [...rules.values()] };
    });
  }
}

const COUNTS = ["allowed", "denied", "shadow_denied", "candidate_denied"] as const;

type Row = Omit<Rollup, "start"> & { readonly start: number };

function emptySeries(length: number): UsageSeries {
  const zeros = (): number[] => new Array(length).fill(0);
  return { allowed: zeros(), denied: zeros(), shadow_denied: zeros(), candidate_denied: zeros() };
}

/** One row per period and rule, in a fixed order, so that nodes cannot deadlock. */
function summed(rollups: readonly Rollup[]): readonly Row[] {
  const sums = new Map<string, Row>();
  for (const { period, start, rule_id, allowed, denied, shadow_denied, candidate_denied } of rollups) {
    const at = Date.parse(start);
    const key = JSON.stringify([period, at, rule_id]);
    const sum = sums.get(key);
    sums.set(key, {
      period,
      start: at,
      rule_id,
      allowed: (sum?.allowed ?? 0) + allowed,
      denied: (sum?.denied ?? 0) + denied,
      shadow_denied: (sum?.shadow_denied ?? 0) + shadow_denied,
      candidate_denied: (sum?.candidate_denied ?? 0) + candidate_denied,
    });
  }
  return [...sums.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}
