import type { AuditedDatabase } from "./audited-writes.ts";
import type { Answered, AnsweredTable } from "./database.ts";
import { RETENTION_MS } from "./retention.ts";
import { requireStorable } from "./storable-text.ts";

export class SqlAnswered implements AnsweredTable {
  private readonly audited: AuditedDatabase;

  constructor(audited: AuditedDatabase) {
    this.audited = audited;
  }

  async claim(key: string, fingerprint: string, now: Date): Promise<Answered | undefined> {
    requireStorable({ key_id: key, fingerprint });
    const row = { fingerprint, claimed_at: now.getTime(), response: null };
    const expired = now.getTime() - RETENTION_MS.answered;
    for (;;) {
      const claimed = await this.audited.tally((db) =>
        db
          .insertInto("headgate_answered")
          .values({ key, ...row })
          .onConflict((conflict) =>
            conflict.column("key").doUpdateSet(row).where("headgate_answered.claimed_at", "<=", expired),
          )
          .returning("key")
          .executeTakeFirst(),
      );
      if (claimed !== undefined) return undefined;
      const holder = await this.audited.read((db) =>
        db.selectFrom("headgate_answered").selectAll().where("key", "=", key).executeTakeFirst(),
      );
      // It was released meanwhile.
      if (holder === undefined) continue;
      if (holder.response === null) return { fingerprint: holder.fingerprint };
      return { fingerprint: holder.fingerprint, response: JSON.parse(holder.response) };
    }
  }

  async finish(key: string, status: number, body: string, headers: Readonly<Record<string, string>>): Promise<void> {
    const response = JSON.stringify({ status, body, headers });
    await this.audited.tally((db) =>
      db.updateTable("headgate_answered").set({ response }).where("key", "=", key).execute(),
    );
  }

  async release(key: string): Promise<void> {
    await this.audited.tally((db) =>
      db.deleteFrom("headgate_answered").where("key", "=", key).where("response", "is", null).execute(),
    );
  }
}
