import type { Clock } from "../../clock/clock.ts";
import { type Limit, limitText } from "../../limits/limit.ts";
import { KeyHash } from "../../stores/memory/key-hash.ts";
import { KeyTable } from "../../stores/memory/key-table.ts";
import { type Answer, counterOf, limitOf, type Operation } from "../../stores/store.ts";

/** What the store last reported about the quota of a key, in units and microseconds of the local clock. */
export interface Report {
  readonly remaining: number;
  /** When the store was asked. */
  readonly at: number;
  /** Whether it refers to this process's own share instead of the whole limit. */
  readonly isShare: boolean;
}

/** A denial by the store that still holds: for how long, and until the full quota is available again. */
export interface ActiveDenial {
  readonly remaining: number;
  readonly retryAfter: number;
  readonly resetAfter: number;
}

/** Offsets of the numbers in a row. */
const AT = 0;
const REMAINING = 1;
const RESET_AT = 2;
/** Requests of at least this cost are denied; 0 if the key was never denied. */
const DENIED_COST = 3;
const DENIED_UNTIL = 4;
/** 1 if REMAINING refers to this process's own share. */
const IS_SHARE = 5;
/** The limit under which the store reported it. */
const LIMIT = 6;
const ROW_LENGTH = 7;

/** Value of REMAINING after the report has been used. */
const USED = -1;

const FEWEST_SLOTS = 64;
const FULLEST = 0.8;
/** How many rows to inspect to find one that can be evicted. */
const STEPS_FOR_ROOM = 64;

/**
 * What the store last reported about keys: how much was left, and until when they are denied. Memory is bounded by
 * `maxKeys` rows of eight numbers, whatever the keys and however many limits there are. Keys that are not denied are
 * evicted first, so a flood of new keys does not displace denials.
 */
export class KnownKeys {
  private readonly maxKeys: number;
  private readonly clock: Clock;
  private readonly hash = new KeyHash();
  /** Mixed into the hashes of keys, per counter. */
  private readonly salts = new Map<string, Int32Array>();
  private readonly limitIds = new WeakMap<Limit, number>();
  private table = new KeyTable(FEWEST_SLOTS, ROW_LENGTH);
  /** Next slot to inspect for eviction. */
  private cursor = 0;
  private high = 0;
  private low = 0;

  constructor(maxKeys: number, clock: Clock) {
    this.maxKeys = maxKeys;
    this.clock = clock;
  }

  get size(): number {
    return this.table.size;
  }

  /**
   * Records the store's answer to a request of `cost` that was sent at `at`. `mayBeOld`: the answer may be a repetition
   * from minutes ago, so it can only make the known state stricter.
   */
  learn(operation: Operation, cost: number, answer: Answer, at: number, mayBeOld: boolean): void {
    const { allowed, remaining, retryAfter, resetAfter } = answer;
    const isDenial = !allowed && retryAfter > 0 && Number.isFinite(retryAfter);
    const limit = this.limitId(limitOf(operation));
    let row = this.find(operation);
    if (row < 0) {
      if (!this.makeRoom(isDenial)) return;
      row = this.table.add(this.high, this.low);
      this.table.cells[row + LIMIT] = limit;
    } else if (this.table.cells[row + LIMIT] !== limit) {
      // A denial under another limit is kept, unless this request is denied too.
      if (!isDenial && this.table.cells[row + DENIED_UNTIL] > this.clock.now()) return;
      this.table.cells.fill(0, row, row + ROW_LENGTH);
      this.table.cells[row + LIMIT] = limit;
    } else if (mayBeOld && allowed && this.table.cells[row + RESET_AT] > at) {
      if (remaining >= this.table.cells[row + REMAINING]) return;
    }
    const { cells } = this.table;
    cells[row + AT] = at;
    cells[row + REMAINING] = remaining;
    cells[row + RESET_AT] = at + resetAfter;
    cells[row + IS_SHARE] = answer.source === "lease" ? 1 : 0;
    if (isDenial) {
      const now = this.clock.now();
      // The smaller of two costs denies more requests.
      if (cells[row + DENIED_UNTIL] > now && cells[row + DENIED_COST] < cost) return;
      cells[row + DENIED_COST] = cost;
      cells[row + DENIED_UNTIL] = now + retryAfter;
    } else if (allowed && !mayBeOld && cost >= cells[row + DENIED_COST]) {
      cells[row + DENIED_UNTIL] = 0;
    }
  }

  /** The denial that applies to a request of `cost`, if any. */
  denial(operation: Operation, cost: number, now: number): ActiveDenial | undefined {
    const row = this.findUnderLimit(operation);
    if (row < 0) return undefined;
    this.followClock(row, now);
    const { cells } = this.table;
    const retryAfter = cells[row + DENIED_UNTIL] - now;
    if (retryAfter <= 0 || cost < cells[row + DENIED_COST]) return undefined;
    return {
      remaining: Math.max(0, cells[row + REMAINING]),
      retryAfter,
      resetAfter: Math.max(retryAfter, cells[row + RESET_AT] - now),
    };
  }

  /** The latest report on a key, if part of its quota is still in use and the report has not been taken before. */
  takeReport(operation: Operation, now: number): Report | undefined {
    const row = this.findUnderLimit(operation);
    if (row < 0) return undefined;
    this.followClock(row, now);
    const { cells } = this.table;
    const remaining = cells[row + REMAINING];
    if (remaining === USED || now >= cells[row + RESET_AT]) return undefined;
    cells[row + REMAINING] = USED;
    return { remaining, at: cells[row + AT], isShare: cells[row + IS_SHARE] === 1 };
  }

  forget(operation: Operation): void {
    const row = this.find(operation);
    if (row >= 0) this.table.remove(row);
  }

  private findUnderLimit(operation: Operation): number {
    const row = this.find(operation);
    return row >= 0 && this.table.cells[row + LIMIT] === this.limitId(limitOf(operation)) ? row : -1;
  }

  private find({ rule, key }: Operation): number {
    const salt = this.salt(counterOf(rule));
    this.hash.update(key);
    const high = this.hash.high ^ salt[0];
    this.high = high >>> 1 === 0 ? high | 2 : high;
    this.low = this.hash.low ^ salt[1];
    return this.table.find(this.high, this.low);
  }

  private salt(counter: string): Int32Array {
    let salt = this.salts.get(counter);
    if (salt === undefined) {
      salt = crypto.getRandomValues(new Int32Array(2));
      this.salts.set(counter, salt);
    }
    return salt;
  }

  /** Equal limits have the same id. */
  private limitId(limit: Limit): number {
    let id = this.limitIds.get(limit);
    if (id === undefined) {
      this.hash.update(limitText(limit));
      id = (this.hash.high >>> 0) * 2 ** 21 + (this.hash.low >>> 11);
      this.limitIds.set(limit, id);
    }
    return id;
  }

  /** Setting the clock back must not prolong anything beyond what the store said. */
  private followClock(row: number, now: number): void {
    const { cells } = this.table;
    const back = cells[row + AT] - now;
    if (back <= 0) return;
    for (const time of [AT, RESET_AT, DENIED_UNTIL]) cells[row + time] -= back;
  }

  /** Makes room for one more row, evicting another denial only for a denial. */
  private makeRoom(isDenial: boolean): boolean {
    if (this.table.size >= this.maxKeys && !this.dropOne(isDenial)) return false;
    if (this.table.size >= FULLEST * this.table.slots) this.grow();
    return true;
  }

  private dropOne(isDenial: boolean): boolean {
    const { table } = this;
    const now = this.clock.now();
    let denied = -1;
    for (let steps = 0; steps < STEPS_FOR_ROOM; ) {
      this.cursor = (this.cursor + 1) % table.slots;
      const row = table.rowIn(this.cursor);
      if (row < 0) continue;
      steps += 1;
      if (table.cells[row + DENIED_UNTIL] <= now) {
        table.remove(row);
        return true;
      }
      denied = row;
      if (table.size <= steps) break;
    }
    if (isDenial) table.remove(denied);
    return isDenial;
  }

  private grow(): void {
    const old = this.table;
    this.table = new KeyTable(2 * old.slots, ROW_LENGTH);
    for (let slot = 0; slot < old.slots; slot += 1) {
      const row = old.rowIn(slot);
      if (row >= 0) this.table.take(old, row);
    }
  }
}
