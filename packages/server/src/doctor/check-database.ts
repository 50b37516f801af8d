import { randomUUID } from "node:crypto";
import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import pg from "pg";
import type { Settings } from "../config/settings.ts";
import type { Database } from "../database/database.ts";
import { openDatabase } from "../database/open-database.ts";
import { Catalogue } from "../rules/catalogue.ts";
import { ruleFindings } from "./check-rules.ts";
import { clockSkew } from "./clock-skew.ts";
import { type Finding, fail, messageOf, ok } from "./finding.ts";

export async function databaseFindings(settings: Settings): Promise<readonly Finding[]> {
  const { postgres, data } = settings;
  if (postgres === undefined && !existsSync(join(data, "headgate.db"))) return [notYet(data)];
  let database: Database;
  try {
    database = await openDatabase(postgres === undefined ? { data } : { postgres });
  } catch (error) {
    return [fail("database", messageOf(error))];
  }
  try {
    return [
      await writable(database),
      ...(postgres === undefined ? [] : [await postgresClock(postgres)]),
      ...(settings.rules === undefined ? await storedRules(database) : []),
    ];
  } finally {
    await database.close();
  }
}

/** `doctor` creates nothing: it only checks whether the folder could be created. */
function notYet(data: string): Finding {
  let folder = resolve(data);
  while (!existsSync(folder)) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK);
    return ok("database", `there is none in ${data} yet: headgate serve will create it`);
  } catch {
    return fail("database", `${folder} is not writable: give headgate a folder of its own with --data`);
  }
}

/** Writes a row and removes it again. */
async function writable(database: Database): Promise<Finding> {
  const key = `doctor ${randomUUID()}`;
  try {
    await database.answered.claim(key, "doctor", new Date());
    await database.answered.release(key);
    return ok("database", "is readable and writable");
  } catch (error) {
    return fail("database", `cannot be written: ${messageOf(error)}`);
  }
}

async function postgresClock(url: string): Promise<Finding> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3_000 });
  try {
    await client.connect();
    const sent = Date.now();
    const { rows } = await client.query("select extract(epoch from clock_timestamp()) * 1000 as ms");
    return clockSkew("postgres clock", Number(rows[0].ms), sent, Date.now());
  } catch (error) {
    return fail("postgres clock", messageOf(error));
  } finally {
    await client.end().catch(() => {});
  }
}

async function storedRules(database: Database): Promise<readonly Finding[]> {
  try {
    return ruleFindings(Catalogue.of(await database.rules.all()));
  } catch (error) {
    return [fail("rules", messageOf(error))];
  }
}
