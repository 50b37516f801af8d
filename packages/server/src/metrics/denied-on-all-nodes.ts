import { randomUUID } from "node:crypto";
import type { DeniedTable } from "../database/database.ts";
import { type DeniedReport, readReport } from "./denied-report.ts";
import { type DeniedKey, hourOf, type TopDenied, topOf } from "./top-denied.ts";

/** So many keys of each dimension a node tells the others of. */
const REPORTED = 100;
/** Of its own keys it knows more. */
const OWN = 1_000;
const HOUR_MS = 3_600_000;

/** Who was denied most in this hour and the one before it. */
export interface MostDenied {
  readonly keys: readonly DeniedKey[];
  /** How many nodes have contributed, this one included. One that was restarted counts again. */
  readonly nodes: number;
  /** Whether the reports of all nodes could be read. If not, only those that could be are in it. */
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
  /** By hour, how many denials the report had that was written last. */
  private readonly written = new Map<number, number>();

  constructor(own: TopDenied, table: DeniedTable, nodeId: string = randomUUID()) {
    this.own = own;
    this.table = table;
    this.nodeId = nodeId;
  }

  /** Writes what has changed since the last time. Fails as the database does; what it did not take is written next time. */
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
        // Reports may be long: others get their turn between two.
        await new Promise(setImmediate);
        if (report === undefined) {
          complete = false;
          continue;
        }
        reports.push(report);
        nodes.add(nodeId);
      }
    } catch {
      // What this node knows is better than nothing; the answer says that it is not all.
      complete = false;
    }
    return { keys: topOf(reports, limit), nodes: nodes.size, complete };
  }
}
