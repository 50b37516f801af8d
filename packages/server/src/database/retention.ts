import type { Transaction } from "kysely";
import { AUDIT_SUBJECT, PURGE_ACTION, purgedToIn, purgeEvent } from "../audit/purge-record.ts";
import type { AuditedDatabase, Entry } from "./audited-writes.ts";
import type { Tables } from "./tables.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** How long rows are kept. For an override, the time starts when it expires. Some can be changed in the settings. */
export const RETENTION_MS = {
  audit: 90 * DAY,
  minute_rollups: 30 * DAY,
  day_rollups: 365 * DAY,
  answered: 5 * MINUTE,
  overrides: 30 * DAY,
  changes: DAY,
  top_denied: 3 * 60 * MINUTE,
  node_reports: MINUTE,
} as const;

/** Each purge of the audit log adds an entry, so it waits until a day's worth can be removed. */
const PURGE_EVERY_MS = DAY;

/** Rows per transaction: few enough that an overdue purge does not block others for long. */
const ROWS_AT_ONCE = 1_000;

type Retained = keyof typeof RETENTION_MS;

export type Retention = Readonly<Record<Retained, number>>;

/** Removes what has exceeded its retention, in small transactions. Returns the number of rows by kind. */
export async function purge(
  audited: AuditedDatabase,
  now: Date,
  retention: Partial<Retention> = {},
): Promise<Record<Retained, number>> {
  const retentionMs: Retention = { ...RETENTION_MS, ...retention };
  const removed = async (kind: Retained): Promise<number> => {
    const before = now.getTime() - retentionMs[kind];
    let all = 0;
    for (;;) {
      const some = await audited.write((db, entry) => removeSome[kind](db, before, entry));
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
    top_denied: await removed("top_denied"),
    node_reports: await removed("node_reports"),
  };
}

type Removal = (db: Transaction<Tables>, before: number, entry: Entry) => Promise<number>;

const removeSome: Record<Retained, Removal> = {
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

  // One row per node and hour, so never many.
  top_denied: (db, before) => counted(db.deleteFrom("headgate_top_denied").where("start", "<=", before)),

  // One row per node.
  node_reports: (db, before) => counted(db.deleteFrom("headgate_node_reports").where("at", "<=", before)),

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
 * Removes entries from the start of the chain up to the first one to keep, so that the rest is still a chain. The
 * extent is recorded in the chain before anything is removed, and each transaction removes a part of it. It stops at a
 * part in which the chain is broken, because a purge must not hide that.
 */
async function removeAudit(db: Transaction<Tables>, before: number, entry: Entry): Promise<number> {
  const { anchor_seq, head_seq } = await db
    .selectFrom("headgate_audit_chain")
    .select(["anchor_seq", "head_seq"])
    .executeTakeFirstOrThrow();
  const recorded = await purgeRecorded(db);
  if (anchor_seq > recorded) return 0;
  const oldest = await db
    .selectFrom("headgate_audit")
    .select("at")
    .where("seq", "=", anchor_seq + 1)
    .executeTakeFirst();
  // An interrupted purge first continues as far as it is recorded. Then only this step's entries are examined:
  // searching for the end of what is overdue each time would take ever longer.
  const isUnderway = anchor_seq < recorded;
  const isDue = oldest !== undefined && oldest.at <= before - PURGE_EVERY_MS;
  if (!isUnderway && !isDue) return 0;
  const stepEnd = anchor_seq + ROWS_AT_ONCE;
  const kept = await db
    .selectFrom("headgate_audit")
    .select("seq")
    .where("at", ">", before)
    .where("seq", ">", anchor_seq)
    .where("seq", "<=", isUnderway ? stepEnd : head_seq)
    .orderBy("seq")
    .limit(1)
    .executeTakeFirst();
  const outlived = (kept?.seq ?? head_seq + 1) - 1;
  const upTo = isUnderway ? Math.min(outlived, recorded) : outlived;
  const last = Math.min(upTo, stepEnd);
  if (last <= anchor_seq) return 0;
  const hashes = await db
    .selectFrom("headgate_audit")
    .select(["seq", "hash"])
    .where("seq", "in", [last, upTo])
    .execute();
  // Only what this transaction removes: counting up to `upTo` each time would take ever longer.
  const { count } = await db
    .selectFrom("headgate_audit")
    .select(({ fn }) => fn.countAll().as("count"))
    .where("seq", "<=", last)
    .executeTakeFirstOrThrow();
  const anchor = hashes.find(({ seq }) => seq === last);
  const purgedTo = hashes.find(({ seq }) => seq === upTo);
  if (anchor === undefined || purgedTo === undefined || Number(count) !== last - anchor_seq) return 0;
  if (upTo > recorded) entry.events.push(purgeEvent(entry.at, purgedTo, before));
  await db.updateTable("headgate_audit_chain").set({ anchor_seq: last, anchor_hash: anchor.hash }).execute();
  return counted(db.deleteFrom("headgate_audit").where("seq", "<=", last));
}

/** The last entry that the chain records as purged; -1 if unknown. */
async function purgeRecorded(db: Transaction<Tables>): Promise<number> {
  const row = await db
    .selectFrom("headgate_audit")
    .select("after")
    // The subject has an index.
    .where("subject", "=", AUDIT_SUBJECT)
    .where("action", "=", PURGE_ACTION)
    .orderBy("seq", "desc")
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return 0;
  try {
    return purgedToIn({ action: PURGE_ACTION, subject: AUDIT_SUBJECT, after: JSON.parse(row.after) })?.seq ?? -1;
  } catch {
    return -1;
  }
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
