import { existsSync } from "node:fs";
import { join } from "node:path";
import { type AuditQuery, type Database, openDatabase } from "headgate-server";
import { type ExitCode, exitCodes, FileNotFound, InvalidInput } from "../failure.ts";
import { type SettingOptions, settingsOf } from "../settings/settings-of-flags.ts";

/** Entries to request at a time. */
const PAGE = 500;

export interface ListOptions {
  readonly subject?: string;
  readonly action?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: string;
}

export interface VerifyOptions {
  readonly head?: string;
}

/** `headgate audit verify`: prints one line per problem in the chain, then the head. */
export async function verifyAudit({ head: expected, ...options }: VerifyOptions & SettingOptions): Promise<ExitCode> {
  const noted = expected === undefined ? undefined : headOf("--head", expected);
  return withDatabase(options, async ({ audit }) => {
    const { entries, head, begins_after, broken, unlisted = 0 } = await audit.verify(noted);
    const lines =
      broken === undefined
        ? [`intact: ${entries} entries${begins_after.seq === 0 ? "" : `, from ${begins_after.seq + 1} on`}`]
        : broken.map(({ seq, problem }) => `broken at entry ${seq}: ${problem}`);
    if (unlisted > 0) lines.push(`broken at ${unlisted} more places`);
    if (broken === undefined && noted !== undefined) lines.push(`expected: entry ${noted.seq} is part of the chain`);
    lines.push(`head: ${head.seq}:${head.hash}`);
    process.stdout.write(lines.map((line) => `${line}\n`).join(""));
    return broken === undefined ? exitCodes.done : exitCodes.invalid;
  });
}

/** `headgate audit list`: prints one line of JSON per entry. */
export async function listAudit({
  subject,
  action,
  from,
  to,
  limit,
  ...options
}: ListOptions & SettingOptions): Promise<ExitCode> {
  const query = {
    ...(subject !== undefined && { subject }),
    ...(action !== undefined && { action }),
    ...(from !== undefined && { from: timeOf("--from", from) }),
    ...(to !== undefined && { to: timeOf("--to", to) }),
  };
  const most = limit === undefined ? Number.POSITIVE_INFINITY : countOf("--limit", limit);
  return withDatabase(options, async (database) => {
    for await (const line of entries(database, query, most)) process.stdout.write(line);
    return exitCodes.done;
  });
}

async function* entries({ audit }: Database, query: Omit<AuditQuery, "limit">, most: number): AsyncIterable<string> {
  let left = most;
  let cursor: string | undefined;
  do {
    const page = await audit.query({ ...query, limit: Math.min(PAGE, left), ...(cursor !== undefined && { cursor }) });
    yield page.items.map((entry) => `${JSON.stringify(entry)}\n`).join("");
    left -= page.items.length;
    cursor = page.next;
  } while (cursor !== undefined && left > 0);
}

async function withDatabase(
  options: SettingOptions,
  use: (database: Database) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { settings } = await settingsOf(options);
  const { postgres, data } = settings;
  // Opening a missing database would create it.
  if (postgres === undefined && !existsSync(join(data, "headgate.db"))) {
    throw new FileNotFound(`${data}: no Headgate database in this folder (set --data)`);
  }
  const database = await openDatabase(settings);
  try {
    return await use(database);
  } finally {
    await database.close();
  }
}

function headOf(option: string, text: string): { readonly seq: number; readonly hash: string } {
  const [, seq, hash] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (hash === undefined) {
    throw new InvalidInput(
      `${option}: must be a head printed by audit verify (NUMBER:HASH), got ${JSON.stringify(text)}`,
    );
  }
  return { seq: Number(seq), hash };
}

function timeOf(option: string, text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new InvalidInput(`${option}: must be a time as in 2026-01-31T12:00:00Z, got ${JSON.stringify(text)}`);
  return time.toISOString();
}

function countOf(option: string, text: string): number {
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (count < 1) throw new InvalidInput(`${option}: must be a whole number of at least 1, got ${JSON.stringify(text)}`);
  return count;
}
