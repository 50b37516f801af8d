import { describe, expect, it } from "vitest";
import { decision } from "../../test/checks/results.ts";
import { Tally } from "./decision-counts.ts";
import type { Rollup } from "./rollup.ts";
import { RollupWriter } from "./rollup-writer.ts";

class FakeTable {
  rows: Rollup[] = [];
  isGone = false;

  async add(rollups: readonly Rollup[]): Promise<void> {
    if (this.isGone) throw new Error("gone");
    this.rows.push(...rollups);
  }

  async query(): Promise<{ readonly items: readonly Rollup[] }> {
    return { items: this.rows };
  }

  sum(period: string, start: string): [allowed: number, denied: number, shadowDenied: number] {
    const rows = this.rows.filter((row) => row.period === period && row.start === start);
    const total = (count: (row: Rollup) => number) => rows.reduce((sum, row) => sum + count(row), 0);
    return [total((row) => row.allowed), total((row) => row.denied), total((row) => row.shadow_denied)];
  }
}

const START = new Date("2026-01-31T23:59:50Z");
const MIDNIGHT = new Date("2026-02-01T00:00:00Z");
const LATER = new Date("2026-02-01T00:00:10Z");

function setUp() {
  const tally = new Tally();
  const table = new FakeTable();
  return { tally, table, writer: new RollupWriter(tally, table, START) };
}

describe("rollups", () => {
  it("are written to the minute and the day in which rules decided, each decision once", async () => {
    const { tally, table, writer } = setUp();
    tally.add(decision({ allowed: true }));
    tally.add(decision({ allowed: false }));
    await writer.flush(MIDNIGHT);
    tally.add(decision({ allowed: true }));
    tally.addShadow(decision({ allowed: false }));
    await writer.flush(LATER);
    await writer.flush(LATER);
    expect(table.sum("minute", "2026-01-31T23:59:00.000Z")).toEqual([1, 1, 0]);
    expect(table.sum("minute", "2026-02-01T00:00:00.000Z")).toEqual([1, 0, 1]);
    expect(table.sum("day", "2026-01-31T00:00:00.000Z")).toEqual([1, 1, 0]);
    expect(table.sum("day", "2026-02-01T00:00:00.000Z")).toEqual([1, 0, 1]);
    expect(table.rows).toHaveLength(4);
  });

  it("wait for a database that is gone, and stay in their minute", async () => {
    const { tally, table, writer } = setUp();
    table.isGone = true;
    tally.add(decision({ allowed: true }));
    await expect(writer.flush(MIDNIGHT)).rejects.toThrow("gone");
    tally.add(decision({ allowed: true }));
    await expect(writer.flush(LATER)).rejects.toThrow("gone");
    table.isGone = false;
    await writer.flush(LATER);
    expect(table.sum("minute", "2026-01-31T23:59:00.000Z")).toEqual([1, 0, 0]);
    expect(table.sum("minute", "2026-02-01T00:00:00.000Z")).toEqual([1, 0, 0]);
    expect(table.rows).toHaveLength(4);
  });

  it("that cannot be written are dropped, the oldest first, in bounded memory", async () => {
    const { tally, table, writer } = setUp();
    table.isGone = true;
    for (let rule = 0; rule < 60_000; rule += 1) tally.add(decision({ rule_id: `r${rule}`, allowed: true }));
    await expect(writer.flush(MIDNIGHT)).rejects.toThrow("gone");
    expect(writer.dropped).toBe(20_000);
    table.isGone = false;
    await writer.flush(MIDNIGHT);
    expect(table.rows).toHaveLength(100_000);
    expect(table.rows[0].rule_id).toBe("r10000");
  });
});
