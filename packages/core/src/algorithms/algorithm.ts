import type { Limit } from "../limits/limit.ts";
import type { Rate } from "../limits/rate.ts";
import type { SlotHolder } from "../stores/store.ts";
import type { LeaseSet } from "./concurrency/lease-set.ts";
import type { AlgorithmName } from "./registry.ts";
import type { Fields, StatedLimit } from "./stated-limit.ts";

/**
 * The result of a transition, in units and microseconds. One object is reused for every decision, so that deciding
 * allocates nothing here.
 */
export class Outcome {
  allowed = false;
  /** What can still be taken, after this request if it was admitted. */
  remaining = 0;
  /** Time until the same request would be admitted: 0 if it was, Infinity if it never can be. */
  retryAfter = 0;
  /** Time until the full quota is available again. */
  resetAfter = 0;

  /** What the row becomes if the request is charged. Each algorithm defines what it puts here. */
  time = 0;
  level = 0;
  carry = 0;
}

/**
 * An algorithm is a transition on a row of numbers, without clock, I/O or randomness. Rows do not depend on the limit
 * they were written under, so a changed limit sees what was used.
 *
 * `now` may be earlier than the time in a row; the later of the two counts.
 */
export interface Algorithm {
  /** The row of an unused key. Its length is the length of all rows, unless there is a `resize`. */
  readonly blank: readonly number[];
  /** The fields of a limit that it uses, in the order in which the Lua version reads them. */
  readonly luaFields: readonly (keyof Limit)[];

  /** Decides without changing the row. `out.remaining` and `out.resetAfter` include the request if it is allowed. */
  evaluate(limit: Limit, cells: Float64Array, at: number, now: number, cost: number, out: Outcome): void;

  /** Takes the cost that `out` was evaluated with, whether it was allowed (a request) or not (a penalty). */
  charge(limit: Limit, cells: Float64Array, at: number, cost: number, out: Outcome): void;

  /** Refunds units, never more than were used. */
  refund(limit: Limit, cells: Float64Array, at: number, now: number, cost: number): void;

  /** The time from which on the row decides like a blank one. */
  blankFrom(limit: Limit, cells: Float64Array, at: number): number;

  /** For rows that grow with use. */
  readonly resize?: Resize;

  /** Replaces the algorithm for limits with a calendar, on rows of its own. */
  readonly calendar?: Algorithm;

  /** Replaces the algorithm for coarse limits, on the same rows, if it cannot count that many parts. */
  readonly coarse?: Algorithm;
}

/**
 * The transitions of a releasable algorithm, on the leases of a key. As with an `Algorithm`, the later of `now` and the
 * time of the row counts, and a changed limit sees what is in use. In `out`, `level` is the number of slots in use.
 */
export interface SlotAlgorithm {
  /** The fields of a limit that it uses, in the order in which the Lua version reads them. */
  readonly luaFields: readonly (keyof Limit)[];

  /**
   * Decides whether a reservation could take more slots than it holds; without a holder, whether any reservation could.
   * Leases that have ended are removed.
   */
  evaluateSlots(
    limit: Limit,
    leases: LeaseSet,
    now: number,
    cost: number,
    holder: SlotHolder | undefined,
    out: Outcome,
  ): void;

  /** Takes the slots that `out` was evaluated with. */
  takeSlots(leases: LeaseSet, cost: number, holder: SlotHolder, out: Outcome): void;

  /** Lets a lease end later. If there is none, takes its slots again if there is room. */
  extendSlots(limit: Limit, leases: LeaseSet, now: number, cost: number, holder: SlotHolder, out: Outcome): void;

  /** Frees the slots of a reservation, and leaves a tombstone. */
  releaseSlots(leases: LeaseSet, now: number, holder: SlotHolder): void;
}

/**
 * How limits of an algorithm are stated, and its traits. Code elsewhere asks for a trait, never for a name. Algorithms
 * without the trait `releasable` are an `AlgorithmDefinition`, the others a `SlotDefinition`.
 */
interface LimitDefinition<
  Name extends string = AlgorithmName,
  Own extends Traits = Traits,
  OwnFields extends Fields = Fields,
> {
  /** As used in files, APIs and databases. */
  readonly name: Name;
  /** Other names that the service accepts. */
  readonly aliases?: readonly string[];
  /** The fields of a specification besides `limit` and, unless it is releasable, `window`. */
  readonly fields: OwnFields;
  readonly traits: Own & Traits;
  /** Makes a limit of what a specification or the options of the builder state. */
  limitFrom(stated: StatedLimit): Limit<Name & AlgorithmName>;
  /** The function that users call. */
  build(rate: Rate | number, options?: object): Limit<Name & AlgorithmName>;
}

/** All that the rest of Headgate knows about an algorithm whose units come back with time. */
export interface AlgorithmDefinition<
  Name extends string = AlgorithmName,
  Own extends Traits = Traits,
  OwnFields extends Fields = Fields,
> extends LimitDefinition<Name, Own, OwnFields>,
    Algorithm {}

/** All that the rest of Headgate knows about an algorithm whose units are released. */
export interface SlotDefinition<
  Name extends string = AlgorithmName,
  Own extends Traits = Traits,
  OwnFields extends Fields = Fields,
> extends LimitDefinition<Name, Own, OwnFields>,
    SlotAlgorithm {}

/** What sets algorithms apart for other code. */
export interface Traits {
  /** It admits up to `burst` units at once and regains them at a constant rate. Others count `limit` units in a window. */
  readonly burst?: true;
  /** Admitted requests leave one after the other: a decision has a position in the queue and a delay. */
  readonly queue?: true;
  /** A unit that was taken early and is used later counts the same, so a process can hold some in reserve. */
  readonly leasable?: true;
  /** Windows start at multiples of their length, unless the limit's anchor says otherwise. */
  readonly alignedWindow?: true;
  /**
   * Units are slots: in use until they are released or their lease ends, instead of coming back with time. Operations
   * name the reservation that holds them. There is no window.
   */
  readonly releasable?: true;
}

export interface Resize {
  /** The length that the row needs before `out` is charged, if it has to grow; otherwise 0. */
  lengthToCharge(limit: Limit, cells: Float64Array, at: number, out: Outcome): number;
  /** Copies a row into a longer one. */
  copy(from: Float64Array, fromAt: number, to: Float64Array, toAt: number, length: number): void;
}
