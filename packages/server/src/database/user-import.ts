import type { Transaction } from "kysely";
import { canonicalJson } from "../audit/chain.ts";
import type { UserData, UserInput } from "../rules/user-limits.ts";
import { type Entry, inParts } from "./audited-writes.ts";
import type { Actor, Imported } from "./database.ts";
import type { Tables } from "./tables.ts";

type Stored = Omit<UserData, "overrides">;

/** Stores the given properties of users, in order. Users that do not change are left alone. */
export async function importUsers(
  db: Transaction<Tables>,
  entry: Entry,
  users: readonly UserInput[],
  actor: Actor,
): Promise<Imported> {
  const inputs = new Map<string, UserInput>();
  for (const user of users) inputs.set(user.user_id, { ...inputs.get(user.user_id), ...user });
  const imported = { created: 0, updated: 0, unchanged: 0 };
  await inParts([...inputs.values()], async (some) => {
    const known = await storedOf(
      db,
      some.map(({ user_id }) => user_id),
    );
    const changed: Stored[] = [];
    for (const { user_id, ...change } of some) {
      const before = known.get(user_id) ?? { user_id, tier: null, custom_limits: {}, version: 0 };
      const after = { ...before, ...change, version: before.version + 1 };
      if (before.version > 0 && isSame(before, after)) {
        imported.unchanged += 1;
        continue;
      }
      imported[before.version === 0 ? "created" : "updated"] += 1;
      changed.push(after);
      entry.record(actor, "user.import", `user:${user_id}`, audited(before), audited(after));
      entry.announce({ kind: "user", user_id });
    }
    if (changed.length > 0) await store(db, changed);
  });
  return imported;
}

async function storedOf(db: Transaction<Tables>, ids: readonly string[]): Promise<ReadonlyMap<string, Stored>> {
  const rows = await db.selectFrom("headgate_users").selectAll().where("user_id", "in", ids).execute();
  return new Map(rows.map((row) => [row.user_id, { ...row, custom_limits: JSON.parse(row.custom_limits) }]));
}

async function store(db: Transaction<Tables>, users: readonly Stored[]): Promise<void> {
  const rows = users.map(({ user_id, tier, custom_limits, version }) => ({
    user_id,
    tier,
    custom_limits: JSON.stringify(custom_limits),
    version,
  }));
  await db
    .insertInto("headgate_users")
    .values(rows)
    .onConflict((conflict) =>
      conflict.column("user_id").doUpdateSet(({ ref }) => ({
        tier: ref("excluded.tier"),
        custom_limits: ref("excluded.custom_limits"),
        version: ref("excluded.version"),
      })),
    )
    .execute();
}

function isSame(before: Stored, after: Stored): boolean {
  return before.tier === after.tier && canonicalJson(before.custom_limits) === canonicalJson(after.custom_limits);
}

function audited({ tier, custom_limits, version }: Stored): object {
  return { tier, custom_limits, version };
}
