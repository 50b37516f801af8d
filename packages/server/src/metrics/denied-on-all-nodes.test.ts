import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DeniedTable } from "../database/database.ts";
import { DeniedOnAllNodes } from "./denied-on-all-nodes.ts";
import { TopDenied } from "./top-denied.ts";

const HOUR = 3_600_000;

/** Reports in memory, and how many were written. */
class Table implements DeniedTable {
  readonly rows = new Map<string, { readonly nodeId: string; readonly start: number; readonly text: string }>();
  written = 0;
  gone = false;

  async put(nodeId: string, start: number, text: string): Promise<void> {
    if (this.gone) throw new Error("gone");
    this.written += 1;
    this.rows.set(`${nodeId} ${start}`, { nodeId, start, text });
  }

  async since(start: number) {
    if (this.gone) throw new Error("gone");
    return [...this.rows.values()].filter((row) => row.start >= start);
  }
}

function node(table: Table, name: string, denied: readonly string[] = []) {
  const own = new TopDenied();
  for (const user of denied) own.add("user", user);
  return { own, all: new DeniedOnAllNodes(own, table, name) };
}

describe("the report of the identities denied most on all nodes", () => {
  it("is what all of them have denied together", async () => {
    const table = new Table();
    const left = node(table, "left", ["a", "a", "b"]);
    const right = node(table, "right", ["b", "b", "c"]);
    right.own.add("ip", "10.0.0.1");
    await left.all.flush();
    await right.all.flush();
    for (const { all } of [left, right]) {
      expect(await all.top(3)).toEqual({
        keys: [
          { dimension: "user", identifier: "b", denied: 3, error: 0 },
          { dimension: "user", identifier: "a", denied: 2, error: 0 },
          expect.objectContaining({ denied: 1 }),
        ],
        nodes: 2,
        complete: true,
      });
    }
  });

  it("counts what this node has not written yet, and nothing twice", async () => {
    const table = new Table();
    const { own, all } = node(table, "left", ["a"]);
    await all.flush();
    own.add("user", "a");
    const own2 = { dimension: "user", identifier: "a", denied: 2, error: 0 };
    expect(await all.top(5)).toEqual({ keys: [own2], nodes: 1, complete: true });
  });

  it("writes a report only if there is something new, and the hour before once it has ended", async () => {
    const table = new Table();
    const { own, all } = node(table, "left");
    await all.flush();
    expect(table.written).toBe(0);
    own.add("user", "a");
    await all.flush();
    await all.flush();
    expect(table.written).toBe(1);
    own.add("user", "a");
    own.rotate(Date.now() + HOUR);
    own.add("user", "b");
    await all.flush();
    expect(table.written).toBe(3);
    expect(table.rows.size).toBe(2);
    const other = node(table, "right");
    const { keys } = await other.all.top(5, Date.now() + HOUR);
    expect(keys.map(({ identifier, denied }) => [identifier, denied])).toEqual([
      ["a", 2],
      ["b", 1],
    ]);
    expect((await other.all.top(5, Date.now() + 3 * HOUR)).keys).toEqual([]);
  });

  it("belongs to the next hour when the timer that begins it is early", async () => {
    const table = new Table();
    const { own, all } = node(table, "left", ["a"]);
    const [{ start }] = own.periods();
    own.rotate(start + HOUR - 1);
    own.add("user", "b");
    await all.flush();
    expect([...table.rows.values()].map((row) => row.start)).toEqual([start, start + HOUR]);
  });

  it("is what this node knows while the database is unavailable, and the answer says so", async () => {
    const table = new Table();
    const { all } = node(table, "left", ["a"]);
    table.gone = true;
    await expect(all.flush()).rejects.toThrow("gone");
    expect(await all.top(5)).toMatchObject({ keys: [{ identifier: "a" }], nodes: 1, complete: false });
    table.gone = false;
    await all.flush();
    expect(table.rows.size).toBe(1);
  });

  it("leaves out the part of a node that cannot be read, and says so", async () => {
    const table = new Table();
    const { all } = node(table, "left", ["a"]);
    for (const text of ["{", "{}", '{"user":{"keys":[{"identifier":3}]}}']) {
      await table.put("newer", Date.now(), text);
      expect(await all.top(5)).toMatchObject({ keys: [{ identifier: "a" }], nodes: 1, complete: false });
    }
  });

  it("is never off by more than the error that it states", async () => {
    const keys = fc.array(fc.nat({ max: 400 }), { maxLength: 3_000 });
    await fc.assert(
      fc.asyncProperty(keys, keys, keys, async (...nodes) => {
        const table = new Table();
        const all = nodes.map((denied, i) => node(table, String(i), denied.map(String)).all);
        for (const each of all) await each.flush();
        const truth = new Map<string, number>();
        for (const key of nodes.flat()) truth.set(String(key), (truth.get(String(key)) ?? 0) + 1);
        const top = await all[0].top(1_000);
        for (const { identifier, denied, error } of top.keys) {
          expect(truth.get(identifier)).toBeLessThanOrEqual(denied);
          expect(truth.get(identifier)).toBeGreaterThanOrEqual(denied - error);
        }
      }),
      { numRuns: 30 },
    );
  });
});
