import type { Kysely, Migration, MigrationProvider, RawBuilder } from "kysely";
import { GENESIS } from "../audit/chain.ts";
import { purgeEvent } from "../audit/purge-record.ts";
import { appendToChain } from "./audited-writes.ts";
import { DatabaseError } from "./database-error.ts";
import { Migrator, sql } from "./kysely.ts";
import type { Tables } from "./tables.ts";

const MIGRATION_TABLE = "headgate_migrations";

/**
 * Brings the tables up to date. Any number of nodes may start at once: the first one migrates in one transaction while
 * the others wait. `id` is the type of text that is ordered by its bytes.
 */
export async function migrate(db: Kysely<Tables>, id: RawBuilder<unknown>): Promise<void> {
  const migrations = migrationsWith(id);
  await rejectNewerTables(db, migrations);
  const provider: MigrationProvider = { getMigrations: async () => migrations };
  const migrator = new Migrator({
    db,
    provider,
    migrationTableName: MIGRATION_TABLE,
    migrationLockTableName: "headgate_migration_lock",
  });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  // A newer node may have migrated first.
  await rejectNewerTables(db, migrations);
  throw error;
}

async function rejectNewerTables(db: Kysely<Tables>, known: Readonly<Record<string, Migration>>): Promise<void> {
  const tables = await db.introspection.getTables({ withInternalKyselyTables: true });
  if (!tables.some(({ name }) => name === MIGRATION_TABLE)) return;
  const done = await sql<{ readonly name: string }>`select name from ${sql.table(MIGRATION_TABLE)}`.execute(db);
  const unknown = done.rows.map(({ name }) => name).filter((name) => !Object.hasOwn(known, name));
  if (unknown.length === 0) return;
  throw new DatabaseError(
    "HG_DATABASE_NEWER_SCHEMA",
    `a newer version of Headgate has changed its tables (${unknown.join(", ")}): start that version, or restore a backup from before it`,
  );
}

/** Migrations in the order of their names. A released migration is never edited; changes are new migrations. */
export function migrationsWith(id: RawBuilder<unknown>): Record<string, Migration> {
  return {
    "0001_first": {
      async up(db: Kysely<Tables>) {
        await db.schema
          .createTable("headgate_rules")
          .addColumn("rule_id", id, (column) => column.primaryKey())
          .addColumn("name", "text", (column) => column.notNull())
          .addColumn("dimension", "text", (column) => column.notNull())
          .addColumn("endpoint_pattern", "text", (column) => column.notNull())
          .addColumn("limit", "bigint", (column) => column.notNull())
          .addColumn("window_seconds", "bigint", (column) => column.notNull())
          .addColumn("algorithm", "text", (column) => column.notNull())
          .addColumn("burst", "bigint")
          .addColumn("tier", "text")
          .addColumn("mode", "text", (column) => column.notNull())
          .addColumn("on_error", "text", (column) => column.notNull())
          .addColumn("consistency", "text", (column) => column.notNull())
          .addColumn("created_at", "bigint", (column) => column.notNull())
          .addColumn("updated_at", "bigint", (column) => column.notNull())
          .addColumn("version", "bigint", (column) => column.notNull())
          .addColumn("place", "text", (column) => column.notNull().unique())
          .execute();

        await db.schema
          .createTable("headgate_users")
          .addColumn("user_id", id, (column) => column.primaryKey())
          .addColumn("tier", "text")
          .addColumn("custom_limits", "text", (column) => column.notNull())
          .addColumn("version", "bigint", (column) => column.notNull())
          .execute();

        await db.schema
          .createTable("headgate_overrides")
          .addColumn("override_id", id, (column) => column.primaryKey())
          .addColumn("user_id", id, (column) =>
            column.notNull().references("headgate_users.user_id").onDelete("cascade"),
          )
          .addColumn("rule_id", "text")
          .addColumn("limit", "bigint", (column) => column.notNull())
          .addColumn("burst", "bigint")
          .addColumn("reason", "text", (column) => column.notNull())
          .addColumn("expires_at", "bigint", (column) => column.notNull())
          .addColumn("created_at", "bigint", (column) => column.notNull())
          .addColumn("created_by", "text", (column) => column.notNull())
          .execute();
        await index(db, "headgate_overrides", "user_id");
        await index(db, "headgate_overrides", "expires_at");

        await db.schema
          .createTable("headgate_keys")
          .addColumn("key_id", id, (column) => column.primaryKey())
          .addColumn("name", "text", (column) => column.notNull())
          .addColumn("roles", "text", (column) => column.notNull())
          .addColumn("hash", "text", (column) => column.notNull())
          .addColumn("created_at", "bigint", (column) => column.notNull())
          .addColumn("expires_at", "bigint")
          .addColumn("revoked_at", "bigint")
          .execute();

        await db.schema
          .createTable("headgate_audit")
          .addColumn("seq", "bigint", (column) => column.primaryKey())
          .addColumn("at", "bigint", (column) => column.notNull())
          .addColumn("actor_id", "text", (column) => column.notNull())
          .addColumn("actor_name", "text", (column) => column.notNull())
          .addColumn("action", "text", (column) => column.notNull())
          .addColumn("subject", id, (column) => column.notNull())
          .addColumn("before", "text", (column) => column.notNull())
          .addColumn("after", "text", (column) => column.notNull())
          .addColumn("previous_hash", "text", (column) => column.notNull())
          .addColumn("hash", "text", (column) => column.notNull())
          .execute();
        await index(db, "headgate_audit", "subject", "seq");
        await index(db, "headgate_audit", "at");

        await db.schema
          .createTable("headgate_audit_chain")
          .addColumn("id", "integer", (column) => column.primaryKey().check(sql`id = 1`))
          .addColumn("head_seq", "bigint", (column) => column.notNull())
          .addColumn("head_hash", "text", (column) => column.notNull())
          .addColumn("anchor_seq", "bigint", (column) => column.notNull())
          .addColumn("anchor_hash", "text", (column) => column.notNull())
          .execute();
        await db
          .insertInto("headgate_audit_chain")
          .values({ id: 1, head_seq: 0, head_hash: GENESIS, anchor_seq: 0, anchor_hash: GENESIS })
          .execute();

        await db.schema
          .createTable("headgate_changes")
          .addColumn("revision", "bigint", (column) => column.primaryKey())
          .addColumn("at", "bigint", (column) => column.notNull())
          .addColumn("kind", "text", (column) => column.notNull())
          .addColumn("user_id", "text")
          .execute();
        await db.insertInto("headgate_changes").values({ revision: 0, at: 0, kind: "all", user_id: null }).execute();

        await db.schema
          .createTable("headgate_rollups")
          .addColumn("period", "text", (column) => column.notNull())
          .addColumn("start", "bigint", (column) => column.notNull())
          .addColumn("rule_id", id, (column) => column.notNull())
          .addColumn("allowed", "bigint", (column) => column.notNull())
          .addColumn("denied", "bigint", (column) => column.notNull())
          .addColumn("shadow_denied", "bigint", (column) => column.notNull())
          .addPrimaryKeyConstraint("headgate_rollups_pkey", ["period", "start", "rule_id"])
          .execute();

        await db.schema
          .createTable("headgate_answered")
          .addColumn("key", id, (column) => column.primaryKey())
          .addColumn("fingerprint", "text", (column) => column.notNull())
          .addColumn("claimed_at", "bigint", (column) => column.notNull())
          .addColumn("response", "text")
          .execute();
        await index(db, "headgate_answered", "claimed_at");
      },
    },

    // Records, once, purges made before purges were recorded in the chain.
    "0002_audit_purge_recorded": {
      async up(db: Kysely<Tables>) {
        const { anchor_seq, anchor_hash } = await db
          .selectFrom("headgate_audit_chain")
          .select(["anchor_seq", "anchor_hash"])
          .executeTakeFirstOrThrow();
        if (anchor_seq === 0) return;
        await appendToChain(db, [purgeEvent(Date.now(), { seq: anchor_seq, hash: anchor_hash }, null)]);
      },
    },

    "0003_indexes_of_history": {
      async up(db: Kysely<Tables>) {
        await index(db, "headgate_audit", "action", "seq");
        await index(db, "headgate_rollups", "period", "rule_id", "start");
      },
    },

    "0004_users_by_tier": {
      async up(db: Kysely<Tables>) {
        await index(db, "headgate_users", "tier", "user_id");
      },
    },

    "0005_top_denied": {
      async up(db: Kysely<Tables>) {
        await db.schema
          .createTable("headgate_top_denied")
          .addColumn("node_id", id, (column) => column.notNull())
          .addColumn("start", "bigint", (column) => column.notNull())
          .addColumn("report", "text", (column) => column.notNull())
          .addPrimaryKeyConstraint("headgate_top_denied_pkey", ["start", "node_id"])
          .execute();
      },
    },

    "0006_rule_fields": {
      async up(db: Kysely<Tables>) {
        // Separately, because SQLite adds one column per statement.
        await db.schema.alterTable("headgate_rules").addColumn("anchor", "text").execute();
        await db.schema.alterTable("headgate_rules").addColumn("bucket_width", "double precision").execute();
        await db.schema.alterTable("headgate_rules").addColumn("exact", "integer").execute();
      },
    },

    "0007_rule_methods": {
      async up(db: Kysely<Tables>) {
        await db.schema.alterTable("headgate_rules").addColumn("methods", "text").execute();
      },
    },

    "0008_key_namespace": {
      async up(db: Kysely<Tables>) {
        await db.schema.alterTable("headgate_keys").addColumn("namespace", "text").execute();
      },
    },

    "0009_rule_calendar": {
      async up(db: Kysely<Tables>) {
        await db.schema.alterTable("headgate_rules").addColumn("calendar", "text").execute();
        await db.schema.alterTable("headgate_rules").addColumn("time_zone", "text").execute();
        await db.schema.alterTable("headgate_rules").addColumn("anchor_day", "bigint").execute();
      },
    },

    "0010_trials": {
      async up(db: Kysely<Tables>) {
        await db.schema.alterTable("headgate_rules").addColumn("candidate", "text").execute();
        await db.schema.alterTable("headgate_rules").addColumn("enforce_share", "double precision").execute();
        await db.schema
          .alterTable("headgate_rollups")
          .addColumn("candidate_denied", "bigint", (column) => column.notNull().defaultTo(0))
          .execute();
      },
    },

    "0011_node_reports": {
      async up(db: Kysely<Tables>) {
        await db.schema
          .createTable("headgate_node_reports")
          .addColumn("node_id", id, (column) => column.primaryKey())
          .addColumn("at", "bigint", (column) => column.notNull())
          .addColumn("report", "text", (column) => column.notNull())
          .execute();
      },
    },
  };
}

async function index(db: Kysely<Tables>, table: string, ...columns: string[]): Promise<void> {
  await db.schema
    .createIndex(`${table}_by_${columns.join("_")}`)
    .on(table)
    .columns(columns)
    .execute();
}
