import type { OpenReservation } from "./open-reservation.ts";

const FEWEST_BUCKETS = 16;

/**
 * The open reservations of this process by name, in the order in which they were added.
 *
 * Not a `Map`: each time a map makes room for new entries, its former table refers to the next one and to all entries of
 * that time. As soon as such a table is in V8's old generation, everything that is added later gets there too, however
 * short its life. With 256 reservations in flight, that was about a third of the processor time of `run`.
 */
export class OpenReservations {
  private first: OpenReservation | undefined;
  private last: OpenReservation | undefined;
  private buckets = new Array<OpenReservation | undefined>(FEWEST_BUCKETS).fill(undefined);
  private count = 0;

  get size(): number {
    return this.count;
  }

  get(name: string): OpenReservation | undefined {
    let open = this.buckets[this.bucketOf(name)];
    while (open !== undefined && open.name !== name) open = open.nextInBucket;
    return open;
  }

  /** In place of another one with its name. */
  add(open: OpenReservation): void {
    this.delete(open.name);
    open.before = this.last;
    if (this.last === undefined) this.first = open;
    else this.last.after = open;
    this.last = open;
    this.count += 1;
    if (this.count > this.buckets.length) this.grow();
    else this.index(open);
  }

  delete(name: string): void {
    const bucket = this.bucketOf(name);
    let previous: OpenReservation | undefined;
    let open = this.buckets[bucket];
    while (open !== undefined && open.name !== name) {
      previous = open;
      open = open.nextInBucket;
    }
    if (open === undefined) return;
    const { before, after } = open;
    if (previous === undefined) this.buckets[bucket] = open.nextInBucket;
    else previous.nextInBucket = open.nextInBucket;
    if (before === undefined) this.first = after;
    else before.after = after;
    if (after === undefined) this.last = before;
    else after.before = before;
    open.before = undefined;
    open.after = undefined;
    open.nextInBucket = undefined;
    this.count -= 1;
  }

  get oldest(): OpenReservation | undefined {
    return this.first;
  }

  /** A copy, so that reservations may be added and deleted meanwhile. */
  values(): OpenReservation[] {
    const all: OpenReservation[] = [];
    for (let open = this.first; open !== undefined; open = open.after) all.push(open);
    return all;
  }

  private grow(): void {
    this.buckets = new Array<OpenReservation | undefined>(2 * this.buckets.length).fill(undefined);
    for (let open = this.first; open !== undefined; open = open.after) this.index(open);
  }

  private index(open: OpenReservation): void {
    const bucket = this.bucketOf(open.name);
    open.nextInBucket = this.buckets[bucket];
    this.buckets[bucket] = open;
  }

  /** Names begin with ids that are random, so any hash will do. */
  private bucketOf(name: string): number {
    let hash = 0;
    for (let i = 0; i < name.length; i += 1) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) | 0;
    return hash & (this.buckets.length - 1);
  }
}
