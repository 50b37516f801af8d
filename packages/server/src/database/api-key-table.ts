import type { ApiKeyRecord } from "../access/api-key.ts";
import type { AuditedDatabase } from "./audited-writes.ts";
import type { Actor, Conflict, KeyTable } from "./database.ts";
import { canBeId, requireStorable } from "./storable-text.ts";
import type { KeyRow } from "./tables.ts";

export class SqlKeys implements KeyTable {
  private readonly audited: AuditedDatabase;

  constructor(audited: AuditedDatabase) {
    this.audited = audited;
  }

  all(): Promise<readonly ApiKeyRecord[]> {
    return this.audited.read(async (db) => {
      const rows = await db.selectFrom("headgate_keys").selectAll().orderBy("created_at").orderBy("key_id").execute();
      return rows.map(recordOf);
    });
  }

  async add(key: ApiKeyRecord, actor: Actor): Promise<void> {
    requireStorable(key);
    await this.audited.write(async (db, entry) => {
      await db.insertInto("headgate_keys").values(rowOf(key)).execute();
      entry.record(actor, "key.create", `key:${key.key_id}`, null, withoutHash(key));
      entry.announce({ kind: "keys" });
    });
  }

  async revoke(id: string, actor: Actor): Promise<ApiKeyRecord | Conflict> {
    if (!canBeId(id)) return { conflict: "missing" };
    return this.audited.write(async (db, entry) => {
      const row = await db.selectFrom("headgate_keys").selectAll().where("key_id", "=", id).executeTakeFirst();
      if (row === undefined) return { conflict: "missing" };
      const before = recordOf(row);
      // The first revocation counts.
      if (before.revoked_at !== null) return before;
      const after = { ...before, revoked_at: new Date(entry.at).toISOString() };
      await db.updateTable("headgate_keys").set({ revoked_at: entry.at }).where("key_id", "=", id).execute();
      entry.record(actor, "key.revoke", `key:${id}`, withoutHash(before), withoutHash(after));
      entry.announce({ kind: "keys" });
      return after;
    });
  }
}

/** The audit log has more readers than may see the hashes of secrets. */
function withoutHash({ hash: _, ...rest }: ApiKeyRecord): object {
  return rest;
}

function recordOf({ roles, namespace, created_at, expires_at, revoked_at, ...row }: KeyRow): ApiKeyRecord {
  return {
    ...row,
    namespace: namespace ?? row.key_id,
    roles: JSON.parse(roles),
    created_at: new Date(created_at).toISOString(),
    expires_at: expires_at === null ? null : new Date(expires_at).toISOString(),
    revoked_at: revoked_at === null ? null : new Date(revoked_at).toISOString(),
  };
}

function rowOf({ key_id, name, roles, namespace, hash, created_at, expires_at, revoked_at }: ApiKeyRecord): KeyRow {
  return {
    key_id,
    name,
    roles: JSON.stringify(roles),
    namespace,
    hash,
    created_at: Date.parse(created_at),
    expires_at: expires_at === null ? null : Date.parse(expires_at),
    revoked_at: revoked_at === null ? null : Date.parse(revoked_at),
  };
}
