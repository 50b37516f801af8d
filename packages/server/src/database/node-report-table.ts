import type { AuditedDatabase } from "./audited-writes.ts";
import type { NodeReportTable } from "./database.ts";

export class SqlNodeReports implements NodeReportTable {
  private readonly audited: AuditedDatabase;

  constructor(audited: AuditedDatabase) {
    this.audited = audited;
  }

  async put(nodeId: string, at: number, text: string): Promise<void> {
    await this.audited.tally((db) =>
      db
        .insertInto("headgate_node_reports")
        .values({ node_id: nodeId, at, report: text })
        .onConflict((conflict) => conflict.column("node_id").doUpdateSet({ at, report: text }))
        .execute(),
    );
  }

  async since(at: number): Promise<readonly string[]> {
    const rows = await this.audited.read((db) =>
      db.selectFrom("headgate_node_reports").select("report").where("at", ">=", at).orderBy("node_id").execute(),
    );
    return rows.map(({ report }) => report);
  }

  async remove(nodeId: string): Promise<void> {
    await this.audited.tally((db) => db.deleteFrom("headgate_node_reports").where("node_id", "=", nodeId).execute());
  }
}
