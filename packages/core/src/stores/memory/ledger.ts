import type { Algorithm, Outcome } from "../../algorithms/algorithm.ts";
import { algorithms } from "../../algorithms/registry.ts";
import type { Limit } from "../../limit/limit.ts";
import type { KeyHash } from "./key-hash.ts";
import { KeyTable } from "./key-table.ts";
import { RowPool } from "./row-pool.ts";

const FEWEST_SLOTS = 64;
/** A fuller table probes too long; one emptier than the second wastes memory. */
const FULLEST = 0.75;
const EMPTIEST = 0.125;

/** Slots looked at for each key that is new, for each millisecond that passes, and to make room for a key. */
const STEPS_PER_NEW_KEY = 16;
const STEPS_PER_INTERVAL = 256;
const STEPS_FOR_ROOM = 64;
const INTERVAL = 1_000;
/** How long a blank row is kept, in microseconds: a key that comes again soon keeps its place. */
const MARGIN = 1_000_000;

/** The row that keys share when there is no room for them, under a hash that no key has. */
const OVERFLOW = { high: 1, low: 1 };

export interface LedgerOptions {
  /** How many keys are told apart; further ones share a row. */
  readonly maxKeys: number;
  /** Whether rows that are blank again are forgotten. */
  readonly sweep: boolean;
}

/**
 * The rows of one rule. Rows that have become blank again are swept, and the table grows and shrinks,
 * a few slots at a time as work comes in: no step takes long, however many keys there are.
 */
export class Ledger {
  /** Where the row last located is. */
  cells: Float64Array;
  at = 0;
  /** How many times a key found no room and was counted in the shared row. */
  overflowed = 0;

  limit: Limit;
  readonly algorithm: Algorithm;
  private readonly maxKeys: number;
  private readonly sweeps: boolean;
  private readonly blank: Float64Array;
  private readonly pool: RowPool | undefined;
  private table: KeyTable;
  /** The table that is being emptied into the other, if one is; its rows before the cursor are done. */
  private retiring: KeyTable | undefined;
  private cursor = 0;
  private due = Number.NEGATIVE_INFINITY;
  private row = -1;

  constructor(limit: Limit, options: LedgerOptions) {
    this.limit = limit;
    this.algorithm = algorithms[limit.algorithm];
    this.maxKeys = options.maxKeys;
    this.sweeps = options.sweep;
    this.blank = Float64Array.from(this.algorithm.blank);
    this.pool = this.algorithm.resize === undefined ? undefined : new RowPool();
    this.table = this.newTable(FEWEST_SLOTS);
    this.cells = this.blank;
  }

  get keys(): number {
    return this.table.size + (this.retiring?.size ?? 0);
  }

  /** Points at the row of a key; at a blank one, answering false, if the key has none. */
  locate(key: KeyHash, now: number): boolean {
    if (now >= this.due) this.tend(now);
    const row = this.find(key.high, key.low);
    if (row >= 0) return this.pointAt(row);
    if (this.keys >= this.maxKeys) {
      this.step(STEPS_FOR_ROOM, now, 0);
      if (this.keys >= this.maxKeys) return this.pointAtOverflow();
    }
    this.cells = this.blank;
    this.at = 0;
    return false;
  }

  /** Gives a key that was not located a blank row of its own, and points at it. */
  open(key: KeyHash, now: number): void {
    this.step(STEPS_PER_NEW_KEY, now);
    this.add(key.high, key.low);
  }

  /** Charges the row last located with what `out` says. */
  charge(cost: number, out: Outcome): void {
    const { algorithm, limit } = this;
    if (this.pool !== undefined && algorithm.resize !== undefined) {
      const length = algorithm.resize.lengthToCharge(limit, this.cells, this.at, out);
      if (length > 0) {
        const longer = this.pool.take(length);
        algorithm.resize.copy(this.cells, this.at, this.pool.cells(longer), this.pool.at(longer), length);
        this.pool.give(this.table.cells[this.row]);
        this.table.cells[this.row] = longer;
        this.pointAt(this.row);
      }
    }
    algorithm.charge(limit, this.cells, this.at, cost, out);
  }

  /** Forgets the row last located, unless it is the shared one. */
  drop(): void {
    if (this.row === this.table.find(OVERFLOW.high, OVERFLOW.low)) return;
    this.pool?.give(this.table.cells[this.row]);
    this.table.remove(this.row);
  }

  private find(high: number, low: number): number {
    const row = this.table.find(high, low);
    if (row >= 0 || this.retiring === undefined) return row;
    const old = this.retiring.find(high, low);
    return old < 0 ? -1 : this.table.take(this.retiring, old);
  }

  private pointAt(row: number): true {
    this.row = row;
    if (this.pool === undefined) {
      this.cells = this.table.cells;
      this.at = row;
    } else {
      const pooled = this.table.cells[row];
      this.cells = this.pool.cells(pooled);
      this.at = this.pool.at(pooled);
    }
    return true;
  }

  private pointAtOverflow(): true {
    this.overflowed += 1;
    const row = this.find(OVERFLOW.high, OVERFLOW.low);
    return row >= 0 ? this.pointAt(row) : this.add(OVERFLOW.high, OVERFLOW.low);
  }

  private add(high: number, low: number): true {
    if (this.table.size >= FULLEST * this.table.slots) this.retire(2 * this.table.slots);
    const row = this.table.add(high, low);
    if (this.pool !== undefined) this.table.cells[row] = this.pool.take(this.blank.length);
    this.pointAt(row);
    this.cells.set(this.blank, this.at);
    return true;
  }

  private newTable(slots: number): KeyTable {
    return new KeyTable(slots, this.pool === undefined ? this.blank.length : 1);
  }

  private retire(slots: number): void {
    this.retiring = this.table;
    this.table = this.newTable(slots);
    this.cursor = 0;
  }

  private tend(now: number): void {
    this.due = now + INTERVAL;
    this.step(STEPS_PER_INTERVAL, now);
    const { size, slots } = this.table;
    if (this.retiring === undefined && slots > FEWEST_SLOTS && size < EMPTIEST * slots) this.retire(slots / 4);
  }

  /** Looks at the next few slots: moves what is in them if the table is retiring, and sweeps what is blank. */
  private step(slots: number, now: number, margin = MARGIN): void {
    for (let i = 0; i < slots; i += 1) {
      const table = this.retiring ?? this.table;
      if (this.cursor >= table.slots) {
        this.cursor = 0;
        this.retiring = undefined;
        return;
      }
      const row = table.rowIn(this.cursor);
      if (row < 0) {
        this.cursor += 1;
        continue;
      }
      const pooled = this.pool === undefined ? -1 : table.cells[row];
      const cells = this.pool === undefined ? table.cells : this.pool.cells(pooled);
      const at = this.pool === undefined ? row : this.pool.at(pooled);
      const blank = this.sweeps && this.algorithm.blankFrom(this.limit, cells, at) + margin <= now;
      if (blank) this.pool?.give(pooled);
      if (table === this.retiring) {
        if (blank) table.forget(row);
        else this.table.take(table, row);
        this.cursor += 1;
      } else if (blank) {
        table.remove(row);
      } else {
        this.cursor += 1;
      }
    }
  }
}
