import { createServer } from "node:net";
import { inspect } from "node:util";
import { eventually } from "headgate-testkit/eventually";
import { type PostgresServer, startPostgres } from "headgate-testkit/postgres-server";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Change, Database } from "../../src/database/database.ts";
import { DatabaseError } from "../../src/database/database-error.ts";
import { openDatabase } from "../../src/database/open-database.ts";
import { admin, aRule } from "./fixtures.ts";

describe("a database on PostgreSQL", () => {
  let server: PostgresServer;
  const open: Database[] = [];
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    for (const database of open) await database.close();
    await server.stop();
  });

  async function opened(url: string): Promise<Database> {
    const database = await openDatabase({ postgres: url });
    open.push(database);
    return database;
  }

  it("notifies other nodes before their next poll", async () => {
    const url = await server.database();
    const here = await opened(url);
    // The other node never looks by itself.
    const setInterval = vi.spyOn(globalThis, "setInterval").mockReturnValue(setTimeout(() => {}));
    const there = await opened(url);
    expect(setInterval).toHaveBeenCalledTimes(1);
    setInterval.mockRestore();
    let heard = () => {};
    let times = 0;
    there.onChange(() => {
      times += 1;
      heard();
    });
    // It may not listen yet when the first changes are made.
    await eventually("it hears of a change", async () => {
      await here.users.setTier("u", "first", admin);
      return times > 0;
    });
    for (let i = 0; i < 9; i += 1) {
      const told = new Promise<void>((resolve) => {
        heard = resolve;
      });
      await here.users.setTier("u", `${i}`, admin);
      await told;
    }
  });

  it("reports that changes may have been missed when only the connection that listens was cut", async () => {
    const url = await server.database();
    const database = await opened(url);
    const changes: Change[] = [];
    database.onChange((change) => changes.push(change));
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query ilike 'listen%'`;
    await eventually("it listens, and is cut", async () => (await server.ask(cut, url)).length === 1);
    await eventually("it says so", async () => changes.length > 0);
    expect(changes).toEqual([{ kind: "all" }]);
    await eventually("it listens again", async () => (await server.ask(cut, url)).length === 1);
  });

  it("recovers by itself after a restart under load, loses nothing, and reports that changes may have been missed", async () => {
    const url = await server.database();
    const [database, other] = [await opened(url), await opened(url)];
    const changes: Change[] = [];
    other.onChange((change) => changes.push(change));
    const acknowledged: string[] = [];
    const errors: unknown[] = [];
    let stop = false;
    const write = async (writer: number) => {
      for (let i = 0; !stop; i += 1) {
        const user = `${writer}-${i}`;
        try {
          await database.users.setTier(user, "free", admin);
          acknowledged.push(user);
        } catch (error) {
          errors.push(error);
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      }
    };
    const writers = [0, 1, 2, 3].map(write);
    await eventually("they write", async () => acknowledged.length > 20);
    await server.shutDown();
    await expect(other.ping()).rejects.toMatchObject({ name: "DatabaseError", code: "HG_DATABASE_UNREACHABLE" });
    await server.start();
    const before = acknowledged.length;
    await eventually("they write again", async () => acknowledged.length > before + 20);
    await eventually("the other node is told", async () => changes.some(({ kind }) => kind === "all"));
    stop = true;
    await Promise.all(writers);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors.filter((error) => !(error instanceof DatabaseError))).toEqual([]);
    expect(new Set(errors.map((error) => (error as DatabaseError).code))).toEqual(new Set(["HG_DATABASE_UNREACHABLE"]));
    for (const user of acknowledged) expect(await other.users.get(user)).toMatchObject({ version: 1 });
    expect((await other.audit.verify()).broken).toBe(undefined);
  });

  it("waits for the node whose turn it is to write", async () => {
    const url = await server.database();
    const database = await opened(url);
    const holder = new Promise<void>((resolve) => {
      void server.ask("select pg_advisory_lock(1751474532), pg_sleep(0.3)", url).then(() => resolve());
    });
    await eventually("the lock is held", async () => {
      const [{ count }] = await server.ask(
        "select count(*)::int from pg_locks where locktype = 'advisory' and granted",
      );
      return count > 0;
    });
    const order: string[] = [];
    await Promise.all([
      holder.then(() => order.push("holder")),
      database.rules.create(aRule(), admin).then(() => order.push("writer")),
    ]);
    expect(order).toEqual(["holder", "writer"]);
  });

  it("limits the time of statements, but not of migrations", async () => {
    const url = await server.database();
    await server.ask(`alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '60s'`);
    const note = "begin insert into limits values (tg_op, current_setting('statement_timeout')); return null; end";
    const noteDdl = note.replace("tg_op", "'DDL'").replace("return null; ", "");
    await server.ask(
      `create table limits (during text, value text);
       create function note() returns trigger language plpgsql as $$ ${note} $$;
       create function note_ddl() returns event_trigger language plpgsql as $$ ${noteDdl} $$;
       create event trigger notes on ddl_command_start when tag in ('CREATE INDEX') execute function note_ddl();`,
      url,
    );
    const database = await opened(url);
    await server.ask("create trigger notes after insert on headgate_rules execute function note()", url);
    await database.rules.create(aRule(), admin);
    expect(await server.ask("select distinct during, value from limits order by during", url)).toEqual([
      { during: "DDL", value: "0" },
      { during: "INSERT", value: "10s" },
    ]);
  });

  it("can be read but not written if the server is read-only", async () => {
    const url = await server.database();
    await opened(url);
    await server.ask(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`);
    const database = await opened(url);
    expect(await database.rules.all()).toEqual([]);
    await expect(database.rules.create(aRule(), admin)).rejects.toMatchObject({
      name: "DatabaseError",
      code: "HG_DATABASE_READ_ONLY",
      cause: { code: "25006" },
    });
  });

  it("keeps the password out of every error", async () => {
    const url = await server.database();
    const wrong = { name: "DatabaseError", code: "HG_DATABASE_REFUSED" };
    const cases: [string, object][] = [
      [url.replace(server.password, "not-the-s3cret"), wrong],
      [url.replace("/test_", "/none_"), wrong],
      [url.replace("postgres:", "http:"), { code: "HG_BAD_OPTION", field: "postgres" }],
      [url.replace("127.0.0.1", "127.0.0.1:x"), { code: "HG_BAD_OPTION", field: "postgres" }],
      [url.replace(String(server.port), "1"), { name: "DatabaseError", code: "HG_DATABASE_UNREACHABLE" }],
      [`${url}?sslmode=require`, { name: "DatabaseError", code: "HG_DATABASE_UNREACHABLE" }],
      [`${url}?sslmode=verify-full&sslrootcert=/none/s3cret-of-nobody`, { name: "DatabaseError" }],
    ];
    for (const [postgres, expected] of cases) {
      const error = await openDatabase({ postgres }).catch((failure: unknown) => failure);
      expect(error).toMatchObject(expected);
      expect(inspect(error, { depth: 20, showHidden: true, getters: true })).not.toMatch(
        /s3cret-of-the-test|not-the-s3cret/,
      );
    }
  });

  it("keeps the password to itself when it is printed", async () => {
    const database = await openDatabase({ postgres: await server.database() });
    try {
      expect(inspect(database, { depth: 30, showHidden: true })).not.toContain(server.password);
    } finally {
      await database.close();
    }
  });

  it("gives up on a server that accepts the connection and sends nothing", async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const address = silent.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const begin = performance.now();
    await expect(openDatabase({ postgres: `postgres://u:p@127.0.0.1:${port}/x` })).rejects.toMatchObject({
      code: "HG_DATABASE_UNREACHABLE",
    });
    expect(performance.now() - begin).toBeLessThan(10_000);
    silent.close();
  });
});
