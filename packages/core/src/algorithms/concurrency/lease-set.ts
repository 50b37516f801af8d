/** The slots that a reservation holds, and when its lease ends. */
interface SlotLease {
  readonly id: string;
  readonly slots: number;
  readonly ends: number;
}

/** The row as plain values, which can be stored as JSON. */
export interface LeaseSnapshot {
  /** Null if the row was never changed. */
  readonly latest: number | null;
  /** The reservation, its slots, and when its lease ends. */
  readonly held: readonly (readonly [id: string, slots: number, ends: number])[];
  /** The reservation, and until when it cannot take slots. */
  readonly released: readonly (readonly [id: string, until: number])[];
}

/** How many tombstones are inspected per new one, so that those that have expired are removed without a pause. */
const INSPECTED = 4;

/**
 * The row of a key under a concurrency limit: the leases of reservations that hold slots, and tombstones of those that
 * have released theirs. Times are microseconds.
 */
export class LeaseSet {
  /** The latest time at which the row was changed. */
  latest = Number.NEGATIVE_INFINITY;
  /** Slots of all leases. */
  inUse = 0;
  /** In the order in which they end. */
  private readonly inOrder: SlotLease[] = [];
  private readonly byId = new Map<string, SlotLease>();
  /** Until when each reservation that has released its slots cannot take any. Expired ones are removed later. */
  private readonly tombstones = new Map<string, number>();
  private unseen = this.tombstones.entries();
  private lastTombstone = Number.NEGATIVE_INFINITY;

  static from(snapshot: LeaseSnapshot | undefined): LeaseSet {
    const leases = new LeaseSet();
    if (snapshot === undefined || snapshot.latest === null) return leases;
    const { latest, held, released } = snapshot;
    for (const [id, slots, ends] of held) leases.hold(id, slots, ends, latest);
    for (const [id, until] of released) leases.release(id, until, latest);
    leases.latest = latest;
    return leases;
  }

  /** Without tombstones that have expired. */
  snapshot(): LeaseSnapshot {
    const { latest, inOrder, tombstones } = this;
    return {
      latest: Number.isFinite(latest) ? latest : null,
      held: inOrder.map(({ id, slots, ends }) => [id, slots, ends]),
      released: [...tombstones].filter(([, until]) => until > latest),
    };
  }

  /** Number of reservations, including those that have released their slots. */
  get size(): number {
    return this.byId.size + this.tombstones.size;
  }

  /** How many slots a reservation holds. */
  slotsOf(id: string): number {
    return this.byId.get(id)?.slots ?? 0;
  }

  /** When the lease of a reservation ends; −Infinity if it has none. */
  endOf(id: string): number {
    return this.byId.get(id)?.ends ?? Number.NEGATIVE_INFINITY;
  }

  /** Until when a reservation cannot take slots, because it has released them; −Infinity if it has not. */
  releasedUntil(id: string): number {
    return this.tombstones.get(id) ?? Number.NEGATIVE_INFINITY;
  }

  /** When the last lease ends; −Infinity if there is none. */
  get lastEnd(): number {
    return this.inOrder.at(-1)?.ends ?? Number.NEGATIVE_INFINITY;
  }

  /** The time from which on the row decides like no row. */
  get blankFrom(): number {
    return Math.max(this.latest, this.lastEnd, this.lastTombstone);
  }

  /** Removes leases that have ended. From then on, earlier times count as this one. */
  expire(time: number): void {
    let ended = 0;
    while (ended < this.inOrder.length && this.inOrder[ended].ends <= time) ended += 1;
    if (ended === 0) return;
    for (const { id, slots } of this.inOrder.splice(0, ended)) {
      this.byId.delete(id);
      this.inUse -= slots;
    }
    this.latest = time;
  }

  /** Gives a reservation slots until a time, instead of those that it holds. */
  hold(id: string, slots: number, ends: number, time: number): void {
    this.remove(id);
    const lease = { id, slots, ends };
    this.inOrder.splice(this.placeOf(ends), 0, lease);
    this.byId.set(id, lease);
    this.inUse += slots;
    this.latest = time;
  }

  /** Frees the slots of a reservation, which cannot take any until a time. */
  release(id: string, until: number, time: number): void {
    this.remove(id);
    this.tombstones.set(id, until);
    this.lastTombstone = Math.max(this.lastTombstone, until);
    this.latest = time;
    this.removeTombstones(time);
  }

  /** The time by which this many slots will be free at the latest, not counting those of one reservation. */
  whenFree(slots: number, except: string | undefined): number {
    let free = 0;
    for (const lease of this.inOrder) {
      if (lease.id !== except) free += lease.slots;
      if (free >= slots) return lease.ends;
    }
    return Number.POSITIVE_INFINITY;
  }

  private remove(id: string): void {
    const lease = this.byId.get(id);
    if (lease === undefined) return;
    this.byId.delete(id);
    this.inUse -= lease.slots;
    let place = this.placeOf(lease.ends) - 1;
    while (this.inOrder[place] !== lease) place -= 1;
    this.inOrder.splice(place, 1);
  }

  /** Number of leases that end until a time. */
  private placeOf(ends: number): number {
    let low = 0;
    let high = this.inOrder.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.inOrder[middle].ends <= ends) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private removeTombstones(time: number): void {
    for (let i = 0; i < INSPECTED; i += 1) {
      const { value, done } = this.unseen.next();
      if (done === true) {
        this.unseen = this.tombstones.entries();
        return;
      }
      const [id, until] = value;
      if (until <= time) this.tombstones.delete(id);
    }
  }
}
