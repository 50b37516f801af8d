import { setTimeout as delay } from "node:timers/promises";
import { type PostgresServer, startPostgres } from "headgate-testkit/postgres-server";
import { repeated } from "headgate-testkit/repeated";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { type DatabaseOptions, openDatabase } from "../../src/database/open-database.ts";
import { postgresPlace, SqlitePlaces } from "./places.ts";
import { Writer } from "./writer.ts";

const KILLS = repeated(10);
const FOREVER = 1_000_000;

describe("a process that is killed at any moment", () => {
  const places = new SqlitePlaces();
  afterAll(() => places.remove());

  it(`loses nothing that it has acknowledged, ${KILLS} times`, async () => {
    const { options } = places.next();
    const acknowledged: string[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      const writer = new Writer({ options, task: "users", from: kill * FOREVER, count: FOREVER });
      // Some also while they start, and make or mend the files.
      if (kill % 5 === 0) await delay(Math.random() * 250);
      else await writer.writes(1 + Math.random() * 8);
      await delay(Math.random() * 10);
      await writer.kill();
      acknowledged.push(...writer.acknowledged);
      await expectKept(options, acknowledged, { unsureOf: kill + 1 });
    }
    expect(acknowledged.length).toBeGreaterThanOrEqual(KILLS * 0.8);
  });
});

describe("a PostgreSQL that is killed at any moment", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server.stop());

  it("loses nothing that was acknowledged, also if it is configured not to wait for its disk", async () => {
    await server.ask("alter system set synchronous_commit = off");
    const { options } = await postgresPlace(server);
    const writers = [0, 1].map((i) => new Writer({ options, task: "users", from: i * FOREVER, count: FOREVER }));
    const acknowledged = () => writers.flatMap((writer) => writer.acknowledged);
    const kills = repeated(2);
    for (let kill = 0; kill < kills; kill += 1) {
      await Promise.all(writers.map((writer) => writer.writes(10)));
      await delay(Math.random() * 50);
      await server.kill();
      await server.start();
    }
    await Promise.all(writers.map((writer) => writer.kill()));
    await expectKept(options, acknowledged(), { unsureOf: 2 * (kills + 1) });
  });
});

/** All that was acknowledged is there, each with its entry in a whole audit log; and besides it only what was under way. */
async function expectKept(
  options: DatabaseOptions,
  acknowledged: readonly string[],
  { unsureOf }: { readonly unsureOf: number },
): Promise<void> {
  const database = await openDatabase(options);
  try {
    const { entries, broken } = await database.audit.verify();
    expect(broken).toBe(undefined);
    expect(entries).toBeGreaterThanOrEqual(acknowledged.length);
    expect(entries).toBeLessThanOrEqual(acknowledged.length + unsureOf);
    const audited = await subjects(database);
    for (const i of acknowledged) {
      expect(audited).toContain(`user:u${i}`);
      audited.delete(`user:u${i}`);
      expect(await database.users.get(`u${i}`)).toMatchObject({ tier: `tier ${i}`, version: 1 });
    }
    for (const subject of audited) expect(await database.users.get(subject.slice(5))).toMatchObject({ version: 1 });
  } finally {
    await database.close();
  }
}

async function subjects(database: Database): Promise<Set<string>> {
  const all = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const { items, next } = await database.audit.query({ limit: 1_000, ...(cursor && { cursor }) });
    for (const { subject } of items) all.add(subject);
    if (next === undefined) return all;
    cursor = next;
  }
}
