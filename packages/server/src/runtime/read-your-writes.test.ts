import { expect, it } from "vitest";
import type { Database } from "../database/database.ts";
import { settled } from "./read-your-writes.ts";

const WRITES = [
  ["rules", "create"],
  ["rules", "update"],
  ["rules", "remove"],
  ["rules", "replace"],
  ["keys", "add"],
  ["keys", "revoke"],
] as const;

it.each(WRITES)("%s.%s is answered once what it changed is in force here", async (table, method) => {
  const order: string[] = [];
  const note = (what: string) => async () => {
    await null;
    order.push(what);
    return what;
  };
  const database = { [table]: { [method]: note("written") } } as unknown as Database;
  const rules = { refresh: note("rules read") } as never;
  const keys = { refresh: note("keys read") } as never;
  const tables = settled(database, rules, keys) as unknown as Record<string, Record<string, () => Promise<string>>>;
  expect(await tables[table][method]()).toBe("written");
  expect(order).toEqual(["written", `${table} read`]);
});

it("a key that was written is acknowledged, also if the keys cannot be read just then", async () => {
  const database = { keys: { add: async () => {} } } as unknown as Database;
  const tables = settled(database, {} as never, { refresh: () => Promise.reject(new Error("gone")) });
  await expect(tables.keys.add({} as never, {} as never)).resolves.toBeUndefined();
});
