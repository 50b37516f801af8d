import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RowPool } from "./row-pool.ts";

// Rows that share a page, that fill most of one, and that are longer than any page.
const lengths = fc.constantFrom(1, 9, 13, 2_000, 5_000, 8_192, 8_193, 20_000);
const steps = fc.array(
  fc.oneof(
    fc.record({ action: fc.constant("take" as const), length: lengths, count: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ action: fc.constant("give" as const), length: fc.nat(), count: fc.integer({ min: 1, max: 30 }) }),
  ),
  { maxLength: 30 },
);

describe("a pool of rows", () => {
  it("never lets two rows overlap, whatever is taken and given back", () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const pool = new RowPool();
        const held: { row: number; length: number; mark: number }[] = [];
        let mark = 0;
        for (const { action, length, count } of sequence) {
          for (let i = 0; i < count; i += 1) {
            if (action === "take") {
              const row = pool.take(length);
              mark += 1;
              pool.cells(row).fill(mark, pool.at(row), pool.at(row) + length);
              held.push({ row, length, mark });
            } else if (held.length > 0) {
              const [given] = held.splice(length % held.length, 1);
              pool.give(given.row);
            }
          }
        }
        for (const { row, length, mark } of held) {
          const cells = pool.cells(row).subarray(pool.at(row), pool.at(row) + length);
          expect(cells).toHaveLength(length);
          expect(cells.every((cell) => cell === mark)).toBe(true);
        }
      }),
    );
  });

  it("releases pages that are no longer used", () => {
    const pool = new RowPool();
    const rows = Array.from({ length: 10_000 }, () => pool.take(100));
    const pages = new Set(rows.map((row) => pool.cells(row)));
    expect(pages.size).toBeGreaterThan(100);
    for (const row of rows) pool.give(row);
    const kept = new Set(rows.map((row) => pageOf(pool, row)).filter((page) => page !== undefined));
    // One stays, for the next row of that length.
    expect(kept.size).toBe(1);
    expect(kept).toContain(pool.cells(pool.take(100)));
  });

  it("keeps a page while one row of it is in use", () => {
    const pool = new RowPool();
    const rows = Array.from({ length: 1_000 }, () => pool.take(100));
    const [stays] = rows;
    pool.cells(stays)[pool.at(stays)] = 42;
    for (const row of rows.slice(1)) pool.give(row);
    for (let i = 0; i < 1_000; i += 1) pool.cells(pool.take(100)).fill(0, 0, 0);
    expect(pool.cells(stays)[pool.at(stays)]).toBe(42);
  });

  it("makes no new page for a row that is taken and given again and again", () => {
    const pool = new RowPool();
    const pages = new Set<Float64Array>();
    for (let i = 0; i < 100; i += 1) {
      const row = pool.take(20_000);
      pages.add(pool.cells(row));
      pool.give(row);
    }
    expect(pages.size).toBe(1);
  });
});

function pageOf(pool: RowPool, row: number): Float64Array | undefined {
  try {
    return pool.cells(row);
  } catch {
    return undefined;
  }
}
