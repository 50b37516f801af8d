import type { Algorithm, Outcome } from "../../algorithms/algorithm.ts";
import { algorithmOf } from "../../algorithms/lookup.ts";
import type { Limit } from "../../limits/limit.ts";
import { evaluateRow, type Row } from "../transact.ts";
import type { KeyHash } from "./key-hash.ts";
import { KeyTable } from "./key-table.ts";
import { LimitsInUse } from "./limits-in-use.ts";
import { RowPool } from "./row-pool.ts";

const FEWEST_SLOTS = 64;
/** A fuller table probes too long; an emptier one than the second wastes memory. */
const FULLEST = 0.8;
const EMPTIEST = 0.125;

/** Slots to inspect per new key, and at most per elapsed millisecond. */
const STEPS_PER_NEW_KEY = 16;
const STEPS_PER_INTERVAL = 1024;
/** To make room for a key: all of a small table, and one step to wrap around. */
const STEPS_FOR_ROOM = FEWEST_SLOTS + 1;
const INTERVAL = 1_000;
/** Minimum time between passes over a small table, in microseconds; more often would cost more than the checks. */
const ROUND = 50_000;
/** How long a blank row is kept, in microseconds, so that a key that returns soon keeps its place. */
const MARGIN = 5_000_000;

export interface RuleRowsOptions {
  /** Number of keys with their own row; further ones share a row. */
  readonly maxKeys: number;
  /** Whether blank rows are removed. */
  readonly sweep: boolean;
}

/**
 * The rows of one counter. Blank rows are removed, and the table grows and shrinks, a few slots at a time as checks
 * arrive: no step takes long, however many keys there are.
 */
export class RuleRows implements Row {
  /** The current row: that of the key located last, or a blank one if it has none (`known`). */
  cells: Float64Array;
  at = 0;
  known = false;
  /** Whether the key has its own row of fixed length. */
  private fixed = false;
  /** Whether the current row is the one shared by keys without room. */
  shared = false;
  /** Number of requests counted in the shared row. */
  overflowed = 0;

  limit: Limit;
  algorithm: Algorithm;
  private readonly hash: KeyHash;
  private readonly maxKeys: number;
  private readonly sweeps: boolean;
  private readonly limits: LimitsInUse;
  readonly blank: Float64Array;
  private readonly pool: RowPool | undefined;
  /** The row shared by keys without room, in the layout of the table. */
  private readonly sharedSlot: Float64Array;
  private table: KeyTable;
  /** The table that is being emptied into the other, if any. */
  private retiring: KeyTable | undefined;
  private cursor = 0;
  private due = Number.NEGATIVE_INFINITY;
  /** From this time on, every removed key has its full quota again. */
  private sweptUntil = Number.NEGATIVE_INFINITY;
  // Checks of one key often come in runs: from the second on, there is nothing to look up while its row has not moved.
  // Keys that do not come in runs are not even compared.
  private runKey: string | undefined;
  private row = -1;

  constructor(limit: Limit, hash: KeyHash, options: RuleRowsOptions) {
    this.limit = limit;
    this.algorithm = algorithmOf(limit);
    this.limits = new LimitsInUse(limit);
    this.hash = hash;
    this.maxKeys = options.maxKeys;
    this.sweeps = options.sweep;
    this.blank = Float64Array.from(this.algorithm.blank);
    this.pool = this.algorithm.resize === undefined ? undefined : new RowPool();
    this.sharedSlot = this.pool === undefined ? this.blank.slice() : new Float64Array(1).fill(-1);
    this.table = this.newTable(FEWEST_SLOTS);
    this.cells = this.blank;
  }

  /** Continues under another limit of the same algorithm, because keys may have different ones. */
  use(limit: Limit): void {
    this.limit = limit;
    this.algorithm = algorithmOf(limit);
    this.limits.use(limit);
  }

  get keys(): number {
    return this.table.size + (this.retiring?.size ?? 0);
  }

  /** Decides one request into `out`. Short enough for V8 to inline it, with all that is rare elsewhere. */
  take(limit: Limit, key: string, cost: number, now: number, out: Outcome): void {
    if (key !== this.runKey || now >= this.due || limit !== this.limit) this.turnTo(limit, key, now);
    this.takeCurrent(limit, cost, now, out);
  }

  /** The same for the key that a text has between two places, without making a string of it. */
  takePart(limit: Limit, text: string, start: number, end: number, cost: number, now: number, out: Outcome): void {
    if (limit !== this.limit) this.use(limit);
    if (now >= this.due) this.tend(now);
    this.hash.update(text, start, end);
    this.turnToHashed(now);
    this.runKey = undefined;
    if (this.shared) this.overflowed += 1;
    this.takeCurrent(limit, cost, now, out);
  }

  private takeCurrent(limit: Limit, cost: number, now: number, out: Outcome): void {
    if (!this.fixed) {
      this.takeRare(limit, cost, now, out);
      return;
    }
    const { algorithm, cells, at } = this;
    algorithm.evaluate(limit, cells, at, now, cost, out);
    if (out.allowed && cost !== 0) algorithm.charge(limit, cells, at, cost, out);
  }

  private turnTo(limit: Limit, key: string, now: number): void {
    if (limit !== this.limit) this.use(limit);
    this.arrive(key, now);
  }

  /** A key without a row of its own, or whose row may grow. */
  private takeRare(limit: Limit, cost: number, now: number, out: Outcome): void {
    evaluateRow(this, limit, cost, now, out);
    if (out.allowed && cost !== 0) this.charge(limit, cost, now, out);
  }

  /** A key without a row may have been removed: a clock that is set back must not let it start again earlier. */
  get notBefore(): number {
    return this.known ? Number.NEGATIVE_INFINITY : this.sweptUntil;
  }

  /** Makes the row of a key current for a request, and counts the request if there is no room for the key. */
  arrive(key: string, now: number): void {
    this.locate(key, now);
    if (this.shared) this.overflowed += 1;
  }

  /** Makes the row of a key current. */
  locate(key: string, now: number): void {
    if (now >= this.due) this.tend(now);
    this.hash.update(key);
    const { row } = this;
    this.turnToHashed(now);
    this.runKey = this.known && !this.shared && row === this.row ? key : undefined;
  }

  /** Makes the row of the key hashed last current. */
  private turnToHashed(now: number): void {
    const { hash } = this;
    const row = this.find(hash.high, hash.low);
    this.shared = false;
    if (row >= 0) {
      this.hold(row);
      return;
    }
    if (this.keys >= this.maxKeys) this.step(STEPS_FOR_ROOM, now, 0);
    if (this.keys >= this.maxKeys) {
      this.holdShared();
      return;
    }
    this.cells = this.blank;
    this.at = 0;
    this.known = false;
    this.fixed = false;
  }

  evaluate(limit: Limit, cost: number, time: number, out: Outcome): void {
    this.algorithm.evaluate(limit, this.cells, this.at, time, cost, out);
  }

  /** Charges the current row with the result in `out`, creating it if the key has none. */
  charge(limit: Limit, cost: number, now: number, out: Outcome): void {
    if (!this.known) this.open(now);
    if (this.pool !== undefined) this.makeRoom(this.pool, limit, out);
    this.algorithm.charge(limit, this.cells, this.at, cost, out);
  }

  refund(limit: Limit, cost: number, now: number): void {
    this.algorithm.refund(limit, this.cells, this.at, now, cost);
  }

  /** Removes the current row, unless it is the shared one. */
  drop(): void {
    if (this.shared) return;
    this.pool?.give(this.table.cells[this.row]);
    this.remove(this.row);
  }

  private holdShared(): void {
    if (this.pool !== undefined && this.sharedSlot[0] < 0) this.sharedSlot[0] = this.blankRow(this.pool);
    this.hold(0, this.sharedSlot);
    this.shared = true;
  }

  private open(now: number): void {
    this.step(STEPS_PER_NEW_KEY, now);
    this.add(this.hash.high, this.hash.low);
  }

  private makeRoom(pool: RowPool, limit: Limit, out: Outcome): void {
    const { resize } = this.algorithm;
    const length = resize?.lengthToCharge(limit, this.cells, this.at, out) ?? 0;
    if (length === 0) return;
    const longer = pool.take(length);
    resize?.copy(this.cells, this.at, pool.cells(longer), pool.at(longer), length);
    const slots = this.shared ? this.sharedSlot : this.table.cells;
    pool.give(slots[this.row]);
    slots[this.row] = longer;
    this.hold(this.row, slots);
  }

  private blankRow(pool: RowPool): number {
    const row = pool.take(this.blank.length);
    pool.cells(row).set(this.blank, pool.at(row));
    return row;
  }

  private find(high: number, low: number): number {
    const row = this.table.find(high, low);
    if (row >= 0 || this.retiring === undefined) return row;
    const old = this.retiring.find(high, low);
    return old < 0 ? -1 : this.table.take(this.retiring, old);
  }

  private hold(row: number, slots = this.table.cells): void {
    this.row = row;
    this.known = true;
    this.fixed = this.pool === undefined;
    if (this.pool === undefined) {
      this.cells = slots;
      this.at = row;
    } else {
      const pooled = slots[row];
      this.cells = this.pool.cells(pooled);
      this.at = this.pool.at(pooled);
    }
  }

  private add(high: number, low: number): void {
    if (this.table.size >= FULLEST * this.table.slots) this.retire(2 * this.table.slots);
    const row = this.table.add(high, low);
    if (this.pool === undefined) this.table.cells.set(this.blank, row);
    else this.table.cells[row] = this.blankRow(this.pool);
    this.hold(row);
  }

  private newTable(slots: number): KeyTable {
    return new KeyTable(slots, this.pool === undefined ? this.blank.length : 1);
  }

  private retire(slots: number): void {
    this.retiring = this.table;
    this.table = this.newTable(slots);
    this.cursor = 0;
    this.movedOn();
  }

  private remove(row: number): void {
    this.table.remove(row);
    this.movedOn();
  }

  /** Rows have moved, so the current one may be elsewhere. */
  private movedOn(): void {
    this.runKey = undefined;
    this.row = -1;
  }

  private tend(now: number): void {
    const round = (now - this.due + INTERVAL) / ROUND;
    this.due = now + INTERVAL;
    this.limits.forget(now, this.limit);
    // A table that is being emptied costs every lookup a second probe, so it is emptied faster.
    const steps = this.retiring === undefined ? Math.ceil(this.table.slots * round) : STEPS_PER_INTERVAL;
    this.step(Math.min(steps, STEPS_PER_INTERVAL), now);
    const { size, slots } = this.table;
    if (this.retiring === undefined && slots > FEWEST_SLOTS && size < EMPTIEST * slots)
      this.retire(Math.max(FEWEST_SLOTS, slots / 4));
  }

  /** Inspects the next few slots: moves their rows if the table is retiring, and removes blank ones. */
  private step(slots: number, now: number, margin = MARGIN): void {
    if (!this.sweeps && this.retiring === undefined) return;
    for (let i = 0; i < slots; i += 1) {
      const table = this.retiring ?? this.table;
      if (this.cursor >= table.slots) {
        this.cursor = 0;
        this.retiring = undefined;
        continue;
      }
      const row = table.rowIn(this.cursor);
      const blankFrom = row >= 0 && this.sweeps ? this.blankFrom(table, row) : Number.POSITIVE_INFINITY;
      const blank = blankFrom + margin <= now;
      if (blank) {
        if (blankFrom > this.sweptUntil) this.sweptUntil = blankFrom;
        this.pool?.give(table.cells[row]);
      }
      if (table === this.table) {
        if (blank) this.remove(row);
        else this.cursor += 1;
        continue;
      }
      if (blank) table.forget(row);
      else if (row >= 0) this.table.take(table, row);
      this.cursor += 1;
    }
  }

  private blankFrom(table: KeyTable, row: number): number {
    const { limits, pool } = this;
    if (pool === undefined) return limits.blankFrom(table.cells, row);
    const pooled = table.cells[row];
    return limits.blankFrom(pool.cells(pooled), pool.at(pooled));
  }
}
