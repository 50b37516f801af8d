import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyTable } from "./key-table.ts";

const SLOTS = 16;
const ROW = 2;

// Few distinct low halves in a small table: long runs of neighbours, and runs that go around its end.
const hashes = fc.record({
  high: fc.integer({ min: 2, max: 9 }),
  low: fc.constantFrom(0, 1, 2, 13, 14, 15, 16, 31, -1, -16),
});
const steps = fc.array(fc.record({ hash: hashes, action: fc.constantFrom("add", "add", "remove") }), {
  maxLength: 60,
});

interface Hash {
  readonly high: number;
  readonly low: number;
}

describe("a key table", () => {
  it("finds what a Map finds, after any adding and removing", () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        const table = new KeyTable(SLOTS, ROW);
        const model = new Map<string, number>();
        for (const [i, { action, hash }] of sequence.entries()) {
          const row = table.find(hash.high, hash.low);
          expect(row >= 0).toBe(model.has(id(hash)));
          if (action === "remove" && row >= 0) {
            table.remove(row);
            model.delete(id(hash));
          } else if (action === "add" && row < 0 && model.size < SLOTS - 1) {
            const added = table.add(hash.high, hash.low);
            expect([...rowAt(table, added)]).toEqual([0, 0]);
            table.cells.set([i, -i], added);
            model.set(id(hash), i);
          }
          expectSame(table, model);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("keeps every row in reach while it is emptied into another, in whatever order they leave", () => {
    const distinct = fc.uniqueArray(hashes, { selector: id, minLength: 1, maxLength: SLOTS - 1 });
    fc.assert(
      fc.property(distinct, fc.infiniteStream(fc.nat()), fc.infiniteStream(fc.boolean()), (keys, picks, kept) => {
        const old = new KeyTable(SLOTS, ROW);
        for (const [i, { high, low }] of keys.entries()) old.cells.set([i, -i], old.add(high, low));
        const next = new KeyTable(2 * SLOTS, ROW);
        const staying = new Map(keys.map((hash, i) => [id(hash), i]));
        const moved = new Map<string, number>();
        while (staying.size > 0) {
          const left = keys.filter((hash) => staying.has(id(hash)));
          const hash = left[(picks.next().value ?? 0) % left.length];
          const row = old.find(hash.high, hash.low);
          if (kept.next().value) {
            next.take(old, row);
            moved.set(id(hash), keys.indexOf(hash));
          } else {
            old.forget(row);
          }
          staying.delete(id(hash));
          expectSame(old, staying);
          expectSame(next, moved);
        }
      }),
    );
  });

  it("does not take a key for the mark of a row that has moved", () => {
    const old = new KeyTable(SLOTS, ROW);
    const next = new KeyTable(SLOTS, ROW);
    next.take(old, old.add(5, 0));
    expect(old.find(5, 0)).toBe(-1);
    expect(old.rowIn(0)).toBe(-1);
    expect(old.size).toBe(0);
  });

  it("returns the slot of a row", () => {
    const table = new KeyTable(SLOTS, ROW);
    const row = table.add(7, 11);
    expect(table.slotOf(row)).toBe(11);
    expect(table.rowIn(11)).toBe(row);
  });
});

function id({ high, low }: Hash): string {
  return `${high} ${low}`;
}

function rowAt(table: KeyTable, at: number): Float64Array {
  return table.cells.subarray(at, at + ROW);
}

/** Each row of the model is found with what was written in it, and there is no other. */
function expectSame(table: KeyTable, model: ReadonlyMap<string, number>): void {
  expect(table.size).toBe(model.size);
  for (const [key, value] of model) {
    const [high, low] = key.split(" ").map(Number);
    expect([...rowAt(table, table.find(high, low))]).toEqual([value, -value]);
  }
  const rows = Array.from({ length: table.slots }, (_, slot) => table.rowIn(slot)).filter((row) => row >= 0);
  expect(rows.map((row) => table.cells[row]).sort()).toEqual([...model.values()].sort());
}
