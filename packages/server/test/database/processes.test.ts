import { type PostgresServer, startPostgres } from "headgate-testkit/postgres-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openDatabase } from "../../src/database/open-database.ts";
import { admin, aRule, type Place } from "./fixtures.ts";
import { postgresPlace, SqlitePlaces } from "./places.ts";
import { Writer } from "./writer.ts";

const EACH = 60;

describe("several processes that write at once", () => {
  const places = new SqlitePlaces();
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres({ fsync: "off" });
  });
  afterAll(async () => {
    places.remove();
    await server.stop();
  });

  const databases: [string, () => Promise<Place>][] = [
    ["SQLite", async () => places.next()],
    ["PostgreSQL", () => postgresPlace(server)],
  ];

  it.each(databases)("may also start at once, where there is nothing yet, on %s", async (_, place) => {
    const { options } = await place();
    const writers = [0, 1, 2, 3].map((i) => new Writer({ options, task: "users", from: i * EACH, count: 5 }));
    await Promise.all(writers.map((writer) => writer.done()));
    const database = await openDatabase(options);
    expect(await database.audit.verify()).toMatchObject({ entries: 20 });
    await database.close();
  });

  it.each(databases)("lose no update and keep the audit log whole on %s", async (_, place) => {
    const { options } = await place();
    const database = await openDatabase(options);
    await database.rules.create(aRule({ rule_id: "counter", limit: 1 }), admin);
    const writers = [
      new Writer({ options, task: "counter", count: EACH }),
      new Writer({ options, task: "counter", count: EACH }),
      new Writer({ options, task: "users", count: EACH }),
    ];
    await Promise.all(writers.map((writer) => writer.done()));
    expect(await database.rules.get("counter")).toMatchObject({ limit: 1 + 2 * EACH, version: 1 + 2 * EACH });
    const { entries, head, broken } = await database.audit.verify();
    expect([entries, head.seq, broken]).toEqual([1 + 3 * EACH, 1 + 3 * EACH, undefined]);
    await database.close();
  });
});
