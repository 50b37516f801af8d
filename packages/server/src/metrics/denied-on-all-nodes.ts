import { randomUUID } from "node:crypto";
import type { DeniedTable } from "../database/database.ts";
import { type DeniedReport, readReport } from "./denied-report.ts";
import { type DeniedKey, hourOf, type TopDenied, topOf } from "./top-denied.ts";

/** Number of keys per dimension that a node reports to the others. */
const REPORTED = 100;
/** Number of keys per dimension that a node tracks itself. */
const OWN = 1_000;
const HOUR_MS = 3_600_000;

/** The keys denied most in this hour and the previous one. */
export interface MostDenied {
  readonly keys: readonly DeniedKey[];
  /** Number of nodes that contributed, including this one. A restarted node counts twice. */
  readonly nodes: number;
  /** Whether the reports of all nodes could be read. */
  readonly complete: boolean;
}

/**
 * Combines the denials of all nodes. Each node writes its hourly report to the database every few seconds and reads the
 * reports of the others on request.
 */
export class DeniedOnAllNodes {
  private readonly own: TopDenied;
  private readonly table: DeniedTable;
  private readonly nodeId: string;
  /** Number of denials in the last report written, by hour. */
  private readonly written = new Map<number, number>();

  constructor(own: TopDenied, table: DeniedTable, nodeId: string = randomUUID()) {
    this.own = own;
    this.table = table;
    this.nodeId = nodeId;
  }

  /** Writes what has changed since the last time. Throws if the database fails; the rest is written next time. */
  async flush(): Promise<void> {
    const periods = this.own.periods();
    for (const start of this.written.keys()) {
      if (!periods.some((period) => period.start === start)) this.written.delete(start);
    }
    for (const period of periods) {
      const { start, total } = period;
      if (total === (this.written.get(start) ?? 0)) continue;
      await this.table.put(this.nodeId, start, JSON.stringify(period.report(REPORTED)));
      this.written.set(start, total);
    }
  }

  async top(limit: number, now = Date.now()): Promise<MostDenied> {
    const reports: DeniedReport[] = this.own.periods().map((period) => period.report(OWN));
    const nodes = new Set([this.nodeId]);
    let complete = true;
    try {
      for (const { nodeId, text } of await this.table.since(hourOf(now) - HOUR_MS)) {
        if (nodeId === this.nodeId) continue;
        const report = readReport(text);
        // Reports may be long, so yield to other work in between.
        await new Promise(setImmediate);
        if (report === undefined) {
          complete = false;
          continue;
        }
        reports.push(report);
        nodes.add(nodeId);
      }
    } catch {
      // This node's own figures are better than nothing; the response says that they are incomplete.
      complete = false;
    }
    return { keys: topOf(reports, limit), nodes: nodes.size, complete };
  }
}
