/** The answer to a request about slots, in microseconds. */
export interface SlotAnswer {
  readonly allowed: boolean;
  readonly inUse: number;
  readonly remaining: number;
  readonly retryAfter: number;
  readonly resetAfter: number;
}

interface Lease {
  readonly id: string;
  readonly slots: number;
  readonly ends: number;
}

/** The leases of one key: lists that are searched from front to back. */
export class ConcurrencyModel {
  private leases: Lease[] = [];
  private released: { readonly id: string; readonly until: number }[] = [];
  private clock = Number.NEGATIVE_INFINITY;

  take(limit: number, now: number, id: string, cost: number, forUs: number): SlotAnswer {
    const answer = this.peek(limit, now, cost, id);
    const held = this.heldBy(id);
    if (answer.allowed && cost > held) this.hold(id, cost, forUs);
    return this.after(limit, now, answer);
  }

  extend(limit: number, now: number, id: string, cost: number, forUs: number): SlotAnswer {
    this.move(now);
    const held = this.heldBy(id);
    const answer = this.peek(limit, now, held > 0 ? held : cost, id);
    if (answer.allowed && cost > 0) this.hold(id, held > 0 ? held : cost, forUs);
    return this.after(limit, now, answer);
  }

  release(limit: number, now: number, id: string, forUs: number): SlotAnswer {
    this.move(now);
    this.clock = Math.max(this.clock, now);
    const ends = this.leases.filter((lease) => lease.id === id).map((lease) => lease.ends);
    const untils = this.released.filter((tombstone) => tombstone.id === id).map(({ until }) => until);
    this.leases = this.leases.filter((lease) => lease.id !== id);
    this.released.push({ id, until: Math.max(this.clock + forUs, ...ends, ...untils) });
    return this.after(limit, now, this.peek(limit, now, 1));
  }

  reset(limit: number, now: number): SlotAnswer {
    this.leases = [];
    this.released = [];
    this.clock = Number.NEGATIVE_INFINITY;
    return this.peek(limit, now, 1);
  }

  /** Whether that many could be taken, by a reservation that may hold some; the numbers are those before. */
  peek(limit: number, now: number, cost: number, id?: string): SlotAnswer {
    const time = this.move(now);
    const others = this.leases.filter((lease) => lease.id !== id);
    const inUse = total(this.leases);
    const isReleased = this.released.some((tombstone) => tombstone.id === id && tombstone.until > time);
    const isHeld = id !== undefined && cost <= this.heldBy(id);
    const allowed = cost === 0 || isHeld || (!isReleased && total(others) + cost <= limit);
    // The earliest time at which enough of the others' leases have ended.
    const ends = others.map((lease) => lease.ends).sort((a, b) => a - b);
    const passes = ends.find((end) => total(others.filter((lease) => lease.ends > end)) + cost <= limit);
    const wait = isReleased || cost > limit || passes === undefined ? Number.POSITIVE_INFINITY : passes - now;
    return {
      allowed,
      inUse,
      remaining: Math.max(0, limit - inUse),
      retryAfter: allowed ? 0 : wait,
      resetAfter: inUse > 0 ? Math.max(...this.leases.map((lease) => lease.ends)) - now : 0,
    };
  }

  private after(limit: number, now: number, { allowed, retryAfter }: SlotAnswer): SlotAnswer {
    return { ...this.peek(limit, now, 0), allowed, retryAfter };
  }

  /** Forgets leases that have ended. The clock of a key never runs backwards. */
  private move(now: number): number {
    const time = Math.max(now, this.clock);
    const live = this.leases.filter((lease) => lease.ends > time);
    if (live.length < this.leases.length) this.clock = time;
    this.leases = live;
    this.time = time;
    return time;
  }
  private time = Number.NEGATIVE_INFINITY;

  private heldBy(id: string): number {
    return total(this.leases.filter((lease) => lease.id === id));
  }

  private hold(id: string, slots: number, forUs: number): void {
    this.clock = this.time;
    const before = this.leases.filter((lease) => lease.id === id).map((lease) => lease.ends);
    this.leases = this.leases.filter((lease) => lease.id !== id);
    this.leases.push({ id, slots, ends: Math.max(this.clock + forUs, ...before) });
  }
}

function total(leases: readonly Lease[]): number {
  return leases.reduce((sum, { slots }) => sum + slots, 0);
}
