import type { Kysely } from "kysely";
import type { AuditEntry, AuditEvent, AuditQuery, ChainBreak } from "../audit/audit.ts";
import { ChainWalk, type Link } from "../audit/chain.ts";
import { cursorAt, placeOf } from "./cursor.ts";
import type { AuditTable, Paged, Verified } from "./database.ts";
import type { Ledger } from "./ledger.ts";
import type { AuditRow, Tables } from "./tables.ts";
import { auditable } from "./text.ts";
import { millisecondsOf } from "./time.ts";

/** How many entries are looked at before others get their turn. */
const STRIDE = 500;

export class SqlAudit implements AuditTable {
  private readonly ledger: Ledger;

  constructor(ledger: Ledger) {
    this.ledger = ledger;
  }

  async append(events: readonly AuditEvent[]): Promise<void> {
    if (events.length === 0) return;
    await this.ledger.write(async (_, entry) => {
      entry.events.push(...events);
    });
  }

  async query({ subject, action, from, to, limit, cursor }: AuditQuery): Promise<Paged<AuditEntry>> {
    const before = cursor === undefined ? undefined : placeOf(cursor, "number");
    return this.ledger.read(async (db) => {
      let query = db.selectFrom("headgate_audit").selectAll();
      if (subject !== undefined) query = query.where("subject", "=", auditable(subject));
      if (action !== undefined) query = query.where("action", "=", auditable(action));
      if (from !== undefined) query = query.where("at", ">=", millisecondsOf("from", from));
      if (to !== undefined) query = query.where("at", "<", millisecondsOf("to", to));
      if (before !== undefined) query = query.where("seq", "<", before);
      const rows = await query
        .orderBy("seq", "desc")
        .limit(limit + 1)
        .execute();
      const items = rows.slice(0, limit).map(entryOf);
      return rows.length > limit ? { items, next: cursorAt(items[limit - 1].seq) } : { items };
    });
  }

  async verify(): Promise<Verified> {
    for (;;) {
      const { anchor, head } = await this.ledger.read(chainOf);
      const walk = await this.walk(anchor, head);
      const broken = walk.broken ?? (await this.ledger.read(beyondHead));
      if (broken === undefined) return { entries: walk.entries, head };
      // A purge may have taken the entries while they were walked along.
      const now = await this.ledger.read(chainOf);
      if (now.anchor.seq === anchor.seq) return { entries: walk.entries, head, broken };
    }
  }

  private async walk(anchor: Link, head: Link): Promise<ChainWalk> {
    const walk = new ChainWalk(anchor);
    for (let going = true; going; ) {
      const rows = await this.ledger.read((db) =>
        db
          .selectFrom("headgate_audit")
          .selectAll()
          // From the first row on: one that stands before the anchor does not belong there.
          .where("seq", ">", walk.entries === 0 ? Number.MIN_SAFE_INTEGER : walk.seq)
          .where("seq", "<=", head.seq)
          .orderBy("seq")
          .limit(STRIDE)
          .execute(),
      );
      going = rows.length > 0 && rows.every((row) => walk.step(entryOf(row)));
      await new Promise(setImmediate);
    }
    walk.end(head);
    return walk;
  }
}

async function chainOf(db: Kysely<Tables>): Promise<{ readonly anchor: Link; readonly head: Link }> {
  const row = await db.selectFrom("headgate_audit_chain").selectAll().executeTakeFirstOrThrow();
  return {
    anchor: { seq: row.anchor_seq, hash: row.anchor_hash },
    head: { seq: row.head_seq, hash: row.head_hash },
  };
}

/** The first entry after the head, in one statement, since the head moves. */
async function beyondHead(db: Kysely<Tables>): Promise<ChainBreak | undefined> {
  const row = await db
    .selectFrom("headgate_audit")
    .select("seq")
    .where("seq", ">", (eb) => eb.selectFrom("headgate_audit_chain").select("head_seq"))
    .orderBy("seq")
    .limit(1)
    .executeTakeFirst();
  return row && { seq: row.seq, problem: "the entry was added beyond the end of the chain" };
}

function entryOf({ at, before, after, ...row }: AuditRow): AuditEntry {
  return { ...row, at: new Date(at).toISOString(), before: JSON.parse(before), after: JSON.parse(after) };
}
