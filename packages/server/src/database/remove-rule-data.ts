import type { Kysely } from "kysely";
import { type Entry, inParts } from "./audited-writes.ts";
import type { Actor } from "./database.ts";
import type { Tables } from "./tables.ts";
import { idsAfter, settled, store, userDataOf } from "./user-table.ts";

/**
 * Removes custom limits and overrides for deleted rules, each with an audit entry, so that a rule created later under
 * the same id does not inherit them.
 */
export async function forgetRules(
  db: Kysely<Tables>,
  entry: Entry,
  ruleIds: readonly string[],
  actor: Actor,
): Promise<void> {
  if (ruleIds.length === 0) return;
  const gone = new Set(ruleIds);
  const users = new Set([...(await limitedUsers(db, gone)), ...(await overriddenUsers(db, ruleIds))]);
  await inParts([...users], async (some) => {
    for (const user_id of some) await forget(db, entry, user_id, gone, actor);
  });
}

async function limitedUsers(db: Kysely<Tables>, gone: ReadonlySet<string>): Promise<readonly string[]> {
  const found: string[] = [];
  for (let last: string | undefined; ; ) {
    const rows = await idsAfter(db, last).select("custom_limits").where("custom_limits", "!=", "{}").execute();
    for (const { user_id, custom_limits } of rows) {
      if (Object.keys(JSON.parse(custom_limits)).some((id) => gone.has(id))) found.push(user_id);
    }
    last = rows.at(-1)?.user_id;
    if (last === undefined) return found;
    // Lets other work run.
    await new Promise(setImmediate);
  }
}

async function overriddenUsers(db: Kysely<Tables>, ruleIds: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  await inParts(ruleIds, async (some) => {
    const rows = await db
      .selectFrom("headgate_overrides")
      .select("user_id")
      .distinct()
      .where("rule_id", "in", some)
      .execute();
    for (const { user_id } of rows) found.push(user_id);
  });
  return found;
}

async function forget(
  db: Kysely<Tables>,
  entry: Entry,
  user_id: string,
  gone: ReadonlySet<string>,
  actor: Actor,
): Promise<void> {
  const before = await userDataOf(db, user_id);
  const kept = Object.entries(before.custom_limits).filter(([id]) => !gone.has(id));
  const after = { ...before, custom_limits: Object.fromEntries(kept), version: before.version + 1 };
  await store(db, after);
  if (kept.length < Object.keys(before.custom_limits).length) {
    entry.record(actor, "user.limits", `user:${user_id}`, settled(before), settled(after));
  }
  for (const override of before.overrides) {
    if (override.rule_id === null || !gone.has(override.rule_id)) continue;
    await db.deleteFrom("headgate_overrides").where("override_id", "=", override.override_id).execute();
    entry.record(actor, "override.delete", `user:${user_id}`, override, null);
  }
  entry.announce({ kind: "user", user_id });
}
