import { randomUUID } from "node:crypto";
import { HeadgateError } from "headgate";
import type { Kysely } from "kysely";
import type { CustomLimit, Override, UserData, UserInput } from "../rules/user-limits.ts";
import type { AuditedDatabase } from "./audited-writes.ts";
import type { Actor, Conflict, Imported, Paged, UserQuery, UserTable } from "./database.ts";
import { listUsers } from "./list-users.ts";
import { millisecondsOf } from "./sql-time.ts";
import { canBeId, requireStorable } from "./storable-text.ts";
import type { OverrideRow, Tables } from "./tables.ts";
import { importUsers } from "./user-import.ts";

/** Ids to read before yielding to other work. */
const IDS_AT_ONCE = 5_000;

/** Maximum number of a user's overrides in force. Each check of the user evaluates all of them. */
const MOST_OVERRIDES = 1_000;

export class SqlUsers implements UserTable {
  private readonly audited: AuditedDatabase;

  constructor(audited: AuditedDatabase) {
    this.audited = audited;
  }

  async get(id: string): Promise<UserData> {
    return canBeId(id) ? this.audited.read((db) => userDataOf(db, id)) : unknownUser(id);
  }

  /** Reads in portions. Users added meanwhile may be missing; the change feed reports them. */
  async ids(most: number): Promise<readonly string[] | undefined> {
    const ids: string[] = [];
    for (;;) {
      const some = await this.audited.read((db) => idsAfter(db, ids.at(-1)).execute());
      for (const { user_id } of some) ids.push(user_id);
      if (ids.length > most) return undefined;
      if (some.length < IDS_AT_ONCE) return ids;
      await new Promise(setImmediate);
    }
  }

  list(query: UserQuery): Promise<Paged<UserData>> {
    return listUsers(this.audited, query);
  }

  import(users: readonly UserInput[], actor: Actor): Promise<Imported> {
    return this.audited.write((db, entry) => importUsers(db, entry, users, actor));
  }

  setTier(id: string, tier: string | null, actor: Actor, version?: number): Promise<UserData | Conflict> {
    return this.set(id, { tier }, "user.tier", actor, version);
  }

  setCustomLimits(
    id: string,
    custom_limits: Readonly<Record<string, CustomLimit>>,
    actor: Actor,
    version?: number,
  ): Promise<UserData | Conflict> {
    return this.set(id, { custom_limits }, "user.limits", actor, version);
  }

  async addOverride(
    input: Omit<Override, "override_id" | "created_at" | "created_by">,
    actor: Actor,
  ): Promise<Override> {
    const { user_id, rule_id, limit, burst, reason } = input;
    const expires_at = new Date(millisecondsOf("expires_at", input.expires_at)).toISOString();
    requireStorable({ user_id, rule_id, reason });
    return this.audited.write(async (db, entry) => {
      const override: Override = {
        override_id: randomUUID(),
        user_id,
        rule_id,
        limit,
        burst,
        reason,
        expires_at,
        created_at: new Date(entry.at).toISOString(),
        created_by: actor.id,
      };
      const userData = await userDataOf(db, user_id);
      requireRoom(userData, entry.at);
      await store(db, { ...userData, version: userData.version + 1 });
      await db.insertInto("headgate_overrides").values(rowOf(override)).execute();
      entry.record(actor, "override.create", `user:${user_id}`, null, override);
      entry.announce({ kind: "user", user_id });
      return override;
    });
  }

  async removeOverride(userId: string, overrideId: string, actor: Actor): Promise<Override | Conflict> {
    if (!canBeId(userId) || !canBeId(overrideId)) return { conflict: "missing" };
    return this.audited.write(async (db, entry) => {
      const userData = await userDataOf(db, userId);
      const override = userData.overrides.find(({ override_id }) => override_id === overrideId);
      if (override === undefined) return { conflict: "missing" };
      await store(db, { ...userData, version: userData.version + 1 });
      await db.deleteFrom("headgate_overrides").where("override_id", "=", overrideId).execute();
      entry.record(actor, "override.delete", `user:${userId}`, override, null);
      entry.announce({ kind: "user", user_id: userId });
      return override;
    });
  }

  private async set(
    user_id: string,
    change: Partial<Pick<UserData, "tier" | "custom_limits">>,
    action: "user.tier" | "user.limits",
    actor: Actor,
    version?: number,
  ): Promise<UserData | Conflict> {
    requireStorable({ user_id, ...change });
    return this.audited.write(async (db, entry) => {
      const before = await userDataOf(db, user_id);
      if (version !== undefined && version !== before.version) return { conflict: "changed", current: before.version };
      const after = { ...before, ...change, version: before.version + 1 };
      await store(db, after);
      entry.record(actor, action, `user:${user_id}`, settled(before), settled(after));
      entry.announce({ kind: "user", user_id });
      return after;
    });
  }
}

/** The next portion of ids, in order. */
export function idsAfter(db: Kysely<Tables>, last: string | undefined) {
  const ids = db.selectFrom("headgate_users").select("user_id").orderBy("user_id").limit(IDS_AT_ONCE);
  return last === undefined ? ids : ids.where("user_id", ">", last);
}

export async function userDataOf(db: Kysely<Tables>, user_id: string): Promise<UserData> {
  const user = await db.selectFrom("headgate_users").selectAll().where("user_id", "=", user_id).executeTakeFirst();
  if (user === undefined) return unknownUser(user_id);
  const overrides = await db
    .selectFrom("headgate_overrides")
    .selectAll()
    .where("user_id", "=", user_id)
    .orderBy("created_at")
    .orderBy("override_id")
    .execute();
  return {
    user_id,
    tier: user.tier,
    custom_limits: JSON.parse(user.custom_limits),
    overrides: overrides.map(overrideOf),
    version: user.version,
  };
}

function requireRoom({ overrides }: UserData, now: number): void {
  const count = overrides.filter(({ expires_at }) => Date.parse(expires_at) > now).length;
  if (count < MOST_OVERRIDES) return;
  const problem = `the user already has ${count} in force, and may have at most ${MOST_OVERRIDES}: remove some of them first`;
  throw new HeadgateError("HG_BAD_OPTION", "overrides", problem);
}

function unknownUser(user_id: string): UserData {
  return { user_id, tier: null, custom_limits: {}, overrides: [], version: 0 };
}

/** Stores a user without overrides, which have rows of their own. */
export async function store(db: Kysely<Tables>, { user_id, tier, custom_limits, version }: UserData): Promise<void> {
  const row = { tier, custom_limits: JSON.stringify(custom_limits), version };
  await db
    .insertInto("headgate_users")
    .values({ user_id, ...row })
    .onConflict((conflict) => conflict.column("user_id").doUpdateSet(row))
    .execute();
}

/** The user as recorded in the audit log. Overrides have entries of their own. */
export function settled({ tier, custom_limits, version }: UserData): object {
  return { tier, custom_limits, version };
}

export function overrideOf({ expires_at, created_at, ...row }: OverrideRow): Override {
  return { ...row, expires_at: new Date(expires_at).toISOString(), created_at: new Date(created_at).toISOString() };
}

function rowOf({ expires_at, created_at, ...override }: Override): OverrideRow {
  return { ...override, expires_at: Date.parse(expires_at), created_at: Date.parse(created_at) };
}
