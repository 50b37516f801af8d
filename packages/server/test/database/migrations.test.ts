import { Kysely, SqliteDialect, sql } from "kysely";
import Sqlite from "libsql";
import { afterAll, expect, it } from "vitest";
import { migrationsWith } from "../../src/database/migrations.ts";
import { openDatabase } from "../../src/database/open-database.ts";
import type { Tables } from "../../src/database/tables.ts";
import { admin } from "./fixtures.ts";
import { SqlitePlaces } from "./places.ts";

const places = new SqlitePlaces();
afterAll(() => places.remove());

it("records in the chain what an older version has purged from the audit log", async () => {
  const place = places.next();
  const old = await openDatabase(place.options);
  for (const tier of ["a", "b", "c"]) await old.users.setTier("1", tier, admin);
  await old.close();
  await place.sql(`update headgate_audit_chain set anchor_seq = 2,
    anchor_hash = (select hash from headgate_audit where seq = 2); delete from headgate_audit where seq <= 2`);

  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: new Sqlite(place.file) }) });
  await migrationsWith(sql`text`)["0002_audit_purge_recorded"].up(db);
  await db.destroy();

  const database = await openDatabase(place.options);
  const { broken, entries, begins_after } = await database.audit.verify();
  expect([broken, entries, begins_after.seq]).toEqual([undefined, 2, 2]);
  expect((await database.audit.query({ limit: 1 })).items).toMatchObject([
    { seq: 4, action: "audit.purge", after: { purged_to: begins_after, older_than: null } },
  ]);
  await database.close();
});
