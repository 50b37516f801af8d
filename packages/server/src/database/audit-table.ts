import type { Kysely } from "kysely";
import type { AuditEntry, AuditEvent, AuditQuery, ChainBreak } from "../audit/audit.ts";
import { ChainWalk, GENESIS, type Link } from "../audit/chain.ts";
import type { AuditedDatabase } from "./audited-writes.ts";
import { cursorAt, placeOf } from "./cursor.ts";
import type { AuditTable, Paged, Verified } from "./database.ts";
import { sql } from "./kysely.ts";
import { millisecondsOf } from "./sql-time.ts";
import { auditable } from "./storable-text.ts";
import type { AuditRow, Tables } from "./tables.ts";

/** Number of entries to process before yielding to other work. */
const STRIDE = 500;

/** The same for a query that returns few of the entries it examines. */
const WINDOW = 5_000;

/** The sum keeps the planner from using the index on `at`, with which it would read and sort all matching entries. */
const AT = sql<number>`at + 0`;

export class SqlAudit implements AuditTable {
  private readonly audited: AuditedDatabase;

  constructor(audited: AuditedDatabase) {
    this.audited = audited;
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    if (events.length === 0) return;
    await this.audited.write(async (_, entry) => {
      entry.events.push(...events);
    });
  }

  async query({ subject, action, from, to, limit, cursor }: AuditQuery): Promise<Paged<AuditEntry>> {
    const after = from === undefined ? undefined : millisecondsOf("from", from);
    const until = to === undefined ? undefined : millisecondsOf("to", to);
    const filters = [subject, action].filter((filter) => filter !== undefined).length;
    // A single filter by subject or action uses an index in the order of `seq`. Times are not in that order, because
    // clocks may be set back, so every entry that could match has to be examined.
    const isIndexed = filters <= 1 && after === undefined && until === undefined;
    return this.audited.read(async (db) => {
      const rows: AuditRow[] = [];
      let before = cursor === undefined ? undefined : placeOf(cursor, "number");
      for (;;) {
        const candidates: Candidates = { before, ...(filters === 1 && { subject, action }) };
        const first = isIndexed ? undefined : await windowStart(db, candidates);
        let query = entriesOf(db, { subject, action, before }).selectAll();
        if (after !== undefined) query = query.where(AT, ">=", after);
        if (until !== undefined) query = query.where(AT, "<", until);
        if (first !== undefined) query = query.where("seq", ">=", first);
        const missing = limit + 1 - rows.length;
        rows.push(...(await query.orderBy("seq", "desc").limit(missing).execute()));
        if (first === undefined || rows.length > limit) break;
        before = first;
        await new Promise(setImmediate);
      }
      const items = rows.slice(0, limit).map(entryOf);
      return rows.length > limit ? { items, next: cursorAt(items[limit - 1].seq) } : { items };
    });
  }

  async verify(expected?: Link): Promise<Verified> {
    for (;;) {
      const chain = await this.audited.read(chainOf);
      const { anchor, head } = chain;
      const walk = await this.walk(chain, expected);
      const beyond = await this.audited.read(beyondHead);
      const broken = [...chain.broken, ...walk.breaks, ...(beyond === undefined ? [] : [beyond])];
      const verified = { entries: walk.entries, begins_after: anchor, head };
      if (broken.length === 0) return verified;
      // A purge may have removed entries during the walk.
      const now = await this.audited.read(chainOf);
      if (now.anchor.seq !== anchor.seq) continue;
      return { ...verified, broken, unlisted: walk.breakCount - walk.breaks.length };
    }
  }

  private async walk({ anchor, head }: Chain, expected?: Link): Promise<ChainWalk> {
    const walk = new ChainWalk(anchor, expected);
    let last = Number.MIN_SAFE_INTEGER;
    for (;;) {
      const rows = await this.audited.read((db) =>
        db
          .selectFrom("headgate_audit")
          .selectAll()
          // From the first row on: a row before the anchor does not belong there.
          .where("seq", ">", last)
          .where("seq", "<=", head.seq)
          .orderBy("seq")
          .limit(STRIDE)
          .execute(),
      );
      for (const row of rows) walk.step(entryOf(row));
      if (rows.length < STRIDE) break;
      last = rows[STRIDE - 1].seq;
      await new Promise(setImmediate);
    }
    walk.end(head);
    return walk;
  }
}

interface Candidates {
  readonly subject?: string | undefined;
  readonly action?: string | undefined;
  /** Only entries with a lower `seq`. */
  readonly before: number | undefined;
}

function entriesOf(db: Kysely<Tables>, { subject, action, before }: Candidates) {
  let query = db.selectFrom("headgate_audit");
  if (subject !== undefined) query = query.where("subject", "=", auditable(subject));
  if (action !== undefined) query = query.where("action", "=", auditable(action));
  if (before !== undefined) query = query.where("seq", "<", before);
  return query;
}

/** The `seq` at which the newest `WINDOW` candidates start; undefined if there are fewer. Gaps do not count. */
async function windowStart(db: Kysely<Tables>, candidates: Candidates): Promise<number | undefined> {
  const row = await entriesOf(db, candidates)
    .select("seq")
    .orderBy("seq", "desc")
    .limit(1)
    .offset(WINDOW - 1)
    .executeTakeFirst();
  return row?.seq;
}

interface Chain {
  readonly anchor: Link;
  readonly head: Link;
  readonly broken: readonly ChainBreak[];
}

async function chainOf(db: Kysely<Tables>): Promise<Chain> {
  const row = await db.selectFrom("headgate_audit_chain").selectAll().executeTakeFirst();
  if (row === undefined) return chainWithoutItsRow(db);
  return {
    anchor: { seq: row.anchor_seq, hash: row.anchor_hash },
    head: { seq: row.head_seq, hash: row.head_hash },
    broken: [],
  };
}

/** Without the row of the chain, the remaining entries can still be compared with each other. */
async function chainWithoutItsRow(db: Kysely<Tables>): Promise<Chain> {
  const last = await db
    .selectFrom("headgate_audit")
    .select(["seq", "hash"])
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  const genesis: Link = { seq: 0, hash: GENESIS };
  const problem = "the row that records where the chain begins and ends is missing";
  return { anchor: genesis, head: last ?? genesis, broken: [{ seq: 0, problem }] };
}

/** The first entry after the head, in one statement, because the head moves. */
async function beyondHead(db: Kysely<Tables>): Promise<ChainBreak | undefined> {
  const row = await db
    .selectFrom("headgate_audit")
    .select("seq")
    .where("seq", ">", (eb) => eb.selectFrom("headgate_audit_chain").select("head_seq"))
    .orderBy("seq")
    .limit(1)
    .executeTakeFirst();
  return row && { seq: row.seq, problem: "the entry was added after the end of the chain" };
}

/** Rows edited manually may not contain valid times or JSON. */
function entryOf({ at, before, after, ...row }: AuditRow): AuditEntry {
  const time = parsed("at", at, () => new Date(at).toISOString());
  const fields = [
    time,
    parsed("before", before, () => JSON.parse(before)),
    parsed("after", after, () => JSON.parse(after)),
  ];
  const unreadable = fields.find((field) => field.unreadable !== undefined)?.unreadable;
  return {
    ...row,
    at: String(time.value),
    before: fields[1].value,
    after: fields[2].value,
    ...(unreadable !== undefined && { unreadable }),
  };
}

interface Parsed {
  readonly value: unknown;
  readonly unreadable?: string;
}

function parsed(field: string, stored: unknown, parse: () => unknown): Parsed {
  try {
    return { value: parse() };
  } catch {
    return { value: String(stored), unreadable: `${field} is not ${field === "at" ? "a time" : "valid JSON"}` };
  }
}
