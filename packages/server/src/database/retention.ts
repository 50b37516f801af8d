import type { Transaction } from "kysely";
import type { Ledger } from "./ledger.ts";
import type { Tables } from "./tables.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** How long what is kept is kept. An override's time begins when it has expired. */
export const RETENTION_MS = {
  audit: 90 * DAY,
  minute_rollups: 30 * DAY,
  day_rollups: 365 * DAY,
  answered: 5 * MINUTE,
  overrides: 30 * DAY,
  changes: DAY,
} as const;

/** So many rows go with one transaction, so that nobody waits long for a purge that is overdue. */
const ROWS_AT_ONCE = 1_000;

type Retained = keyof typeof RETENTION_MS;

/** Removes what was there too long at a time; returns how many rows of each. */
export async function purge(ledger: Ledger, now: Date): Promise<Record<Retained, number>> {
  const removed = async (kind: Retained): Promise<number> => {
    const before = now.getTime() - RETENTION_MS[kind];
    let all = 0;
    for (;;) {
      const some = await ledger.write((db) => removeSome[kind](db, before));
      all += some;
      if (some < ROWS_AT_ONCE) return all;
      await new Promise(setImmediate);
    }
  };
  return {
    audit: await removed("audit"),
    minute_rollups: await removed("minute_rollups"),
    day_rollups: await removed("day_rollups"),
    answered: await removed("answered"),
    overrides: await removed("overrides"),
    changes: await removed("changes"),
  };
}

const removeSome: Record<Retained, (db: Transaction<Tables>, before: number) => Promise<number>> = {
  audit: removeAudit,
  minute_rollups: (db, before) => removeRollups(db, "minute", before),
  day_rollups: (db, before) => removeRollups(db, "day", before),

  answered: (db, before) =>
    counted(
      db
        .deleteFrom("headgate_answered")
        .where("key", "in", (query) =>
          query.selectFrom("headgate_answered").select("key").where("claimed_at", "<=", before).limit(ROWS_AT_ONCE),
        ),
    ),

  overrides: (db, before) =>
    counted(
      db
        .deleteFrom("headgate_overrides")
        .where("override_id", "in", (query) =>
          query
            .selectFrom("headgate_overrides")
            .select("override_id")
            .where("expires_at", "<=", before)
            .limit(ROWS_AT_ONCE),
        ),
    ),

  changes: (db, before) =>
    counted(
      db.deleteFrom("headgate_changes").where("revision", "in", (query) =>
        query
          .selectFrom("headgate_changes")
          .select("revision")
          .where("at", "<=", before)
          .where("revision", "<", (inner) =>
            inner.selectFrom("headgate_changes").select(({ fn }) => fn.max("revision").as("newest")),
          )
          .orderBy("revision")
          .limit(ROWS_AT_ONCE),
      ),
    ),
};

/**
 * From the beginning of the chain up to the first entry that is young enough, so that what stays is a chain; its
 * anchor says what it continues.
 */
async function removeAudit(db: Transaction<Tables>, before: number): Promise<number> {
  const { anchor_seq, head_seq } = await db
    .selectFrom("headgate_audit_chain")
    .select(["anchor_seq", "head_seq"])
    .executeTakeFirstOrThrow();
  const kept = await db
    .selectFrom("headgate_audit")
    .select(({ fn }) => fn.min("seq").as("seq"))
    .where("at", ">", before)
    .executeTakeFirst();
  const last = Math.min((kept?.seq ?? head_seq + 1) - 1, anchor_seq + ROWS_AT_ONCE);
  const anchor = await db.selectFrom("headgate_audit").select("hash").where("seq", "=", last).executeTakeFirst();
  // Where the chain is broken already, a purge must not hide it.
  if (last <= anchor_seq || anchor === undefined) return 0;
  await db.updateTable("headgate_audit_chain").set({ anchor_seq: last, anchor_hash: anchor.hash }).execute();
  return counted(db.deleteFrom("headgate_audit").where("seq", "<=", last));
}

function removeRollups(db: Transaction<Tables>, period: "minute" | "day", before: number): Promise<number> {
  return counted(
    db
      .deleteFrom("headgate_rollups")
      .where("period", "=", period)
      .where("start", "<=", before)
      .where(({ eb, refTuple }) =>
        eb(refTuple("start", "rule_id"), "in", (query) =>
          query
            .selectFrom("headgate_rollups")
            .select(["start", "rule_id"])
            .where("period", "=", period)
            .where("start", "<=", before)
            .limit(ROWS_AT_ONCE)
            .$asTuple("start", "rule_id"),
        ),
      ),
  );
}

async function counted(removal: { executeTakeFirst(): Promise<{ readonly numDeletedRows: bigint }> }): Promise<number> {
  return Number((await removal.executeTakeFirst()).numDeletedRows);
}
