import type { Outcome, SlotAlgorithm } from "../../algorithms/algorithm.ts";
import { LeaseSet } from "../../algorithms/concurrency/lease-set.ts";
import type { Limit } from "../../limits/limit.ts";
import type { SlotHolder } from "../store.ts";
import type { Row } from "../transact.ts";
import type { RuleRowsOptions } from "./rule-rows.ts";

/** Rows to inspect per located one, to remove blank ones. */
const STEPS = 4;
/** To make room for a key. */
const STEPS_FOR_ROOM = 64;
/** How long a blank row is kept, in microseconds, so that a key that returns soon keeps its place. */
const MARGIN = 5_000_000;

/**
 * The leases of one counter, by key. As in `RuleRows`, blank rows are removed a few at a time, and keys without room
 * share a row.
 */
export class SlotRows implements Row {
  known = false;
  shared = false;
  /** Number of requests counted in the shared row. */
  overflowed = 0;
  private readonly algorithm: SlotAlgorithm;
  private readonly maxKeys: number;
  private readonly sweeps: boolean;
  private readonly rows = new Map<string, LeaseSet>();
  /** The row shared by keys without room. Its reservations are distinguished by key. */
  private overflow = new LeaseSet();
  private unseen = this.rows.entries();
  /** From this time on, every removed key has all of its slots again. */
  private sweptUntil = Number.NEGATIVE_INFINITY;
  private key = "";
  private row = new LeaseSet();

  constructor(algorithm: SlotAlgorithm, { maxKeys, sweep }: RuleRowsOptions) {
    this.algorithm = algorithm;
    this.maxKeys = maxKeys;
    this.sweeps = sweep;
  }

  get keys(): number {
    return this.rows.size;
  }

  get notBefore(): number {
    return this.known ? Number.NEGATIVE_INFINITY : this.sweptUntil;
  }

  /** Makes the row of a key current for a request, and counts the request if there is no room for the key. */
  arrive(key: string, now: number): void {
    this.step(STEPS, now, MARGIN);
    this.locate(key, now);
    if (this.shared) this.overflowed += 1;
  }

  /** Makes the row of a key current. */
  locate(key: string, now: number): void {
    this.key = key;
    const row = this.rows.get(key);
    this.known = row !== undefined;
    this.shared = row === undefined && this.isFull(now);
    if (row !== undefined) this.row = row;
    else this.row = this.shared ? this.overflow : new LeaseSet();
  }

  evaluate(limit: Limit, cost: number, time: number, out: Outcome, holder?: SlotHolder): void {
    this.algorithm.evaluateSlots(limit, this.row, time, cost, holder && this.own(holder), out);
  }

  charge(_limit: Limit, cost: number, _now: number, out: Outcome, holder: SlotHolder): void {
    this.keep();
    this.algorithm.takeSlots(this.row, cost, this.own(holder), out);
  }

  extend(limit: Limit, cost: number, now: number, out: Outcome, holder: SlotHolder): void {
    this.algorithm.extendSlots(limit, this.row, now, cost, this.own(holder), out);
    if (out.allowed) this.keep();
  }

  release(now: number, holder: SlotHolder): void {
    this.keep();
    this.algorithm.releaseSlots(this.row, now, this.own(holder));
  }

  /** Slots are released, not refunded. */
  refund(): void {}

  drop(): void {
    this.rows.delete(this.key);
    this.known = false;
  }

  private own(holder: SlotHolder): SlotHolder {
    return this.shared ? { ...holder, id: JSON.stringify([this.key, holder.id]) } : holder;
  }

  private keep(): void {
    if (this.known || this.shared) return;
    this.rows.set(this.key, this.row);
    this.known = true;
  }

  /**
   * Whether a new key has to use the shared row: also while others still have slots in it, because some of them may be
   * the key's own.
   */
  private isFull(now: number): boolean {
    if (this.overflow.blankFrom > now) return true;
    if (this.rows.size >= this.maxKeys) this.step(STEPS_FOR_ROOM, now, 0);
    return this.rows.size >= this.maxKeys;
  }

  /** Inspects the next few rows, and removes blank ones. */
  private step(rows: number, now: number, margin: number): void {
    if (!this.sweeps) return;
    for (let i = 0; i < rows; i += 1) {
      const { value, done } = this.unseen.next();
      if (done === true) {
        this.unseen = this.rows.entries();
        return;
      }
      const [key, { blankFrom }] = value;
      if (blankFrom + margin > now) continue;
      this.rows.delete(key);
      this.sweptUntil = Math.max(this.sweptUntil, blankFrom);
    }
  }
}
