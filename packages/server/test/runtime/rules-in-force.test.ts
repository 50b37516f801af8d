import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "headgate-testkit/eventually";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../../src/audit/audit.ts";
import type { Change } from "../../src/database/database.ts";
import { openDatabase } from "../../src/database/open-database.ts";
import type { RateLimitRule } from "../../src/rules/rule.ts";
import { DatabaseRules, FileRules } from "../../src/runtime/active-rules.ts";
import { settled } from "../../src/runtime/read-your-writes.ts";
import { admin } from "../database/fixtures.ts";
import { sampleRule } from "../rules/sample-rule.ts";

const lines: { level: string; msg: string }[] = [];
const log = pino({ formatters: { level: (level) => ({ level }) } }, { write: (line) => lines.push(JSON.parse(line)) });

const endings: (() => unknown)[] = [];
afterEach(() => {
  lines.length = 0;
  for (const end of endings.splice(0)) end();
});

/** The part of a database that rules need, as a test wants it. */
class FakeDatabase {
  stored: readonly RateLimitRule[] = [];
  isGone = false;
  reads = 0;
  listeners: ((change: Change) => void)[] = [];

  readonly rules = {
    all: async () => {
      this.reads += 1;
      await null;
      if (this.isGone) throw new Error("gone");
      return this.stored;
    },
  } as never;

  onChange(listener: (change: Change) => void): () => void {
    this.listeners.push(listener);
    return () => {
      this.listeners = [];
    };
  }

  tell(change: Change): void {
    for (const listener of this.listeners) listener(change);
  }
}

async function opened() {
  const database = new FakeDatabase();
  const rules = await DatabaseRules.open(database, log);
  endings.push(() => rules.close());
  return { database, rules };
}

describe("the rules of the database", () => {
  it("are in force once the change is answered", async () => {
    const { database, rules } = await opened();
    database.stored = [sampleRule()];
    await rules.refresh();
    expect(rules.catalogue.rules).toHaveLength(1);
  });

  it("are read again when they change or may have changed, and for no other change", async () => {
    const { database, rules } = await opened();
    const { reads } = database;
    database.tell({ kind: "keys" });
    database.tell({ kind: "user", user_id: "1" });
    expect(database.reads).toBe(reads);
    for (const kind of ["rules", "all"] as const) {
      database.stored = [...database.stored, sampleRule({ rule_id: kind, window_seconds: database.reads })];
      database.tell({ kind });
      await eventually("they are read", async () => rules.catalogue.rules.length === database.stored.length);
    }
  });

  it("are read once for many changes at once", async () => {
    const { database, rules } = await opened();
    const { reads } = database;
    await Promise.all(Array.from({ length: 100 }, () => rules.refresh()));
    expect(database.reads - reads).toBeLessThanOrEqual(2);
  });

  it("are read once for a change that is made here", async () => {
    const data = mkdtempSync(join(tmpdir(), "headgate-rules-"));
    endings.push(() => rmSync(data, { recursive: true }));
    const database = await openDatabase({ data });
    let reads = 0;
    const all = () => {
      reads += 1;
      return database.rules.all();
    };
    const rules = await DatabaseRules.open({ ...database, rules: { ...database.rules, all } as never }, log);
    const tables = settled(database, rules, {} as never);
    reads = 0;
    await tables.rules.create(sampleRule(), admin);
    await tables.rules.replace([sampleRule({ limit: 7 })], admin);
    expect(rules.catalogue.rules).toMatchObject([{ limit: 7 }]);
    rules.close();
    await database.close();
    expect(reads).toBe(2);
  });

  it("stay as they are while they cannot be read or used, which is reported once, and are read again later", async () => {
    const { database, rules } = await opened();
    database.stored = [sampleRule()];
    await rules.refresh();
    const before = rules.catalogue;
    database.isGone = true;
    await rules.refresh();
    await rules.refresh();
    expect([rules.catalogue, rules.isStale]).toEqual([before, true]);
    database.isGone = false;
    database.stored = [sampleRule({ algorithm: "magic" as never })];
    await rules.refresh();
    expect([rules.catalogue, rules.isStale]).toEqual([before, true]);
    expect(lines.map(({ level }) => level)).toEqual(["error"]);
    database.stored = [];
    await eventually("they are read again without a change", async () => !rules.isStale);
    expect(rules.catalogue.rules).toEqual([]);
    expect(lines.map(({ level }) => level)).toEqual(["error", "info"]);
  });

  it("that are many take the place of the others as a whole, while others are served", async () => {
    const { database, rules } = await opened();
    const many = (limit: number, last = {}) =>
      Array.from({ length: 20_000 }, (_, i) =>
        sampleRule({ rule_id: `r${i}`, endpoint_pattern: `/r${i}`, limit, ...(i === 19_999 && last) }),
      );
    const limits = () => [...new Set(rules.catalogue.rules.map(({ limit }) => limit))];
    database.stored = many(1);
    await rules.refresh();
    database.stored = many(2);
    let isDone = false;
    let turns = 0;
    const refreshed = rules.refresh().finally(() => {
      isDone = true;
    });
    while (!isDone) {
      expect(limits()).toHaveLength(1);
      turns += 1;
      await new Promise(setImmediate);
    }
    await refreshed;
    expect(limits()).toEqual([2]);
    expect(turns).toBeGreaterThan(1);
    // The last of them is found to be bad when all the others have been put together.
    database.stored = many(3, { algorithm: "magic" as never });
    await rules.refresh();
    expect([limits(), rules.isStale]).toEqual([[2], true]);
    // What is changed while they are read is read next.
    database.stored = many(4);
    const first = rules.refresh();
    await new Promise(setImmediate);
    database.stored = many(5);
    await Promise.all([first, rules.refresh()]);
    expect(limits()).toEqual([5]);
  });

  it("that overlap are logged once", async () => {
    const { database, rules } = await opened();
    database.stored = [
      sampleRule({ rule_id: "one", endpoint_pattern: "/api/orders", limit: 100 }),
      sampleRule({ rule_id: "all", endpoint_pattern: "/api/**", limit: 50 }),
    ];
    await rules.refresh();
    await rules.refresh();
    await eventually("it is told", async () => lines.length > 0);
    await rules.refresh();
    expect(lines.filter(({ level }) => level === "warn")).toMatchObject([{ msg: expect.stringContaining("overlap") }]);
  });

  it("are not read any more once they are closed", async () => {
    const { database, rules } = await opened();
    rules.close();
    const { reads } = database;
    await rules.refresh();
    expect(database.reads).toBe(reads);
  });
});

describe("the rules of a file", () => {
  const text = (limit: number) =>
    `rules: [{name: A, dimension: ip, endpoint_pattern: /a, limit: ${limit}, window_seconds: 60}]`;

  it("follow the file, stay as they were when it cannot be used, and are recorded in the audit log", async () => {
    const folder = mkdtempSync(join(tmpdir(), "headgate-rules-"));
    endings.push(() => rmSync(folder, { recursive: true }));
    const file = join(folder, "rules.yaml");
    writeFileSync(file, text(1));
    const audited: AuditEvent[] = [];
    const audit = { append: async (events: readonly AuditEvent[]) => void audited.push(...events) };
    const rules = await FileRules.open(file, log, audit);
    endings.push(() => rules.close());
    const limit = () => rules.catalogue.rules[0].limit;
    expect(limit()).toBe(1);
    writeFileSync(file, text(22));
    await eventually("the new limit holds", async () => limit() === 22);
    expect(rules.catalogue.rules[0].version).toBe(2);
    writeFileSync(file, "rules: [oops]");
    await eventually("it is told", async () => rules.isStale);
    expect(limit()).toBe(22);
    writeFileSync(file, text(333));
    await eventually("the next one holds", async () => limit() === 333 && !rules.isStale);
    expect(audited).toMatchObject([
      { action: "rules.file", actor_id: "file", actor_name: file, before: { rules: 0 }, after: { rules: 1 } },
      { before: { changed: [{ limit: 1 }] }, after: { changed: [{ limit: 22 }] } },
      { before: { changed: [{ limit: 22 }] }, after: { changed: [{ limit: 333 }] } },
    ]);
  });

  it("must be usable when the node starts", async () => {
    await expect(FileRules.open("/nowhere/rules.yaml", log, { append: async () => {} })).rejects.toThrow(/ENOENT/);
  });
});
