import type { Kysely } from "kysely";
import type { Override, UserData } from "../rules/user-limits.ts";
import type { AuditedDatabase } from "./audited-writes.ts";
import { cursorAt, placeOf } from "./cursor.ts";
import type { Paged, UserQuery } from "./database.ts";
import type { Tables } from "./tables.ts";
import { overrideOf } from "./user-table.ts";

/** Users to read before yielding to other work. */
const USERS_AT_ONCE = 100;
/** A page of users with many limits ends early, so that serializing it does not take long. */
const LONGEST_PAGE = 1024 * 1024;

/** Users in the order of their ids. A page may be shorter than its limit even if another one follows. */
export async function listUsers(
  audited: AuditedDatabase,
  { limit, cursor, tier }: UserQuery,
): Promise<Paged<UserData>> {
  const users: UserData[] = [];
  let last = cursor === undefined ? undefined : placeOf(cursor, "string");
  let length = 0;
  for (;;) {
    // One more than requested shows whether there is a next page.
    const count = Math.min(USERS_AT_ONCE, limit - users.length);
    const { some, hasMore, size } = await audited.read((db) => usersAfter(db, last, tier, count));
    users.push(...some);
    length += size;
    last = some.at(-1)?.user_id ?? last;
    if (!hasMore) return { items: users };
    if (last !== undefined && (users.length >= limit || length >= LONGEST_PAGE)) {
      return { items: users, next: cursorAt(last) };
    }
    await new Promise(setImmediate);
  }
}

async function usersAfter(db: Kysely<Tables>, last: string | undefined, tier: string | undefined, count: number) {
  let query = db.selectFrom("headgate_users").selectAll().orderBy("user_id");
  if (last !== undefined) query = query.where("user_id", ">", last);
  if (tier !== undefined) query = query.where("tier", "=", tier);
  const found = await query.limit(count + 1).execute();
  const rows = found.slice(0, count);
  const overrides = await overridesOf(
    db,
    rows.map(({ user_id }) => user_id),
  );
  const some = rows.map(
    (row): UserData => ({
      ...row,
      custom_limits: JSON.parse(row.custom_limits),
      overrides: overrides.get(row.user_id) ?? [],
    }),
  );
  const size = rows.reduce((sum, { custom_limits }) => sum + custom_limits.length, 0);
  return { some, hasMore: found.length > count, size };
}

async function overridesOf(db: Kysely<Tables>, ids: readonly string[]): Promise<ReadonlyMap<string, Override[]>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .selectFrom("headgate_overrides")
    .selectAll()
    .where("user_id", "in", ids)
    .orderBy("created_at")
    .orderBy("override_id")
    .execute();
  const byUser = new Map<string, Override[]>();
  for (const override of rows.map(overrideOf)) {
    const others = byUser.get(override.user_id);
    if (others === undefined) byUser.set(override.user_id, [override]);
    else others.push(override);
  }
  return byUser;
}
