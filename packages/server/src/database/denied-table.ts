import type { AuditedDatabase } from "./audited-writes.ts";
import type { DeniedTable } from "./database.ts";

export class SqlDenied implements DeniedTable {
  private readonly audited: AuditedDatabase;

  constructor(audited: AuditedDatabase) {
    this.audited = audited;
  }

  async put(nodeId: string, start: number, text: string): Promise<void> {
    await this.audited.tally((db) =>
      db
        .insertInto("headgate_top_denied")
        .values({ node_id: nodeId, start, report: text })
        .onConflict((conflict) => conflict.columns(["start", "node_id"]).doUpdateSet({ report: text }))
        .execute(),
    );
  }

  async since(start: number): Promise<readonly { readonly nodeId: string; readonly text: string }[]> {
    const rows = await this.audited.read((db) =>
      db.selectFrom("headgate_top_denied").selectAll().where("start", ">=", start).orderBy("start").execute(),
    );
    return rows.map(({ node_id, report }) => ({ nodeId: node_id, text: report }));
  }
}
