interface Place {
  readonly rank: number;
  readonly of: number;
}

/** One heartbeat: the arguments of `beat.lua`. */
export interface Beat {
  readonly id: string;
  readonly number: number;
  readonly lease: number;
  /** The place that the replica enforces; `of` is 0 if it enforces nothing. */
  readonly held: Place;
}

/** The rank, the number of replicas to assume, the number of replicas, and the lease of the group. */
export type BeatReply = readonly [rank: number, of: number, replicas: number, lease: number];

interface Replica {
  at: number;
  readonly number: number;
  readonly held: Place;
  readonly granted: Place;
}

interface Group {
  readonly since: number;
  readonly last: number;
  readonly lease: number;
  readonly run: string;
}

const NO_PLACE: Place = { rank: 0, of: 0 };
const SHORTEST_EXPIRY = 600_000;

/**
 * The record of a group of `split` as a Redis server keeps it: a twin of `beat.lua` in the library, which explains the
 * rules. A test compares replies and records with those of the script on a real server. Times are in milliseconds.
 */
export class SplitGroup {
  readonly #replicas = new Map<string, Replica>();
  #group: Group | undefined;
  #expiresAt = Number.POSITIVE_INFINITY;

  /** Number of replicas on record. */
  get size(): number {
    return this.#replicas.size;
  }

  /** `run` identifies the run of the server; empty if the user lacks the permission to ask. */
  beat({ id, number, lease, held: reported }: Beat, now: number, run: string): BeatReply {
    if (now > this.#expiresAt) this.#forget();
    const group = this.#group;
    const { last, lease: agreed } = group ?? { last: now, lease };
    const before = this.#replicas.get(id);
    if (before !== undefined && number <= before.number) {
      return [before.granted.rank, before.granted.of, this.#replicas.size, agreed];
    }

    const silent = now - last > lease / 2;
    const stoodStill = silent && group !== undefined && group.run !== "" && group.run === run;
    const pause = stoodStill ? now - last : 0;
    const patience = agreed + agreed / 10;
    const live: Replica[] = [];
    for (const [other, replica] of this.#replicas) {
      if (other === id) continue;
      if (replica.at > now || stoodStill) replica.at = Math.min(now, replica.at + pause);
      if (now - replica.at <= patience) live.push(replica);
      else this.#replicas.delete(other);
    }
    if (agreed !== lease && live.length > 0) return [0, 0, live.length, agreed];

    const isNew = group === undefined || (silent && !stoodStill) || now < last || agreed !== lease;
    const since = isNew ? now : group.since + pause;
    const isWhole = now - since > patience;
    const held = isWhole && before === undefined ? NO_PLACE : reported;
    const own = held.of === 0 && before !== undefined ? before.granted : held;
    const granted = (isWhole && placeAmong(live, own)) || held;
    this.#replicas.set(id, { at: now, number, held, granted });
    this.#group = { since, last: now, lease, run: isNew ? run : group.run };
    this.#expiresAt = now + Math.max(3 * lease, SHORTEST_EXPIRY);
    return [granted.rank, granted.of, live.length + 1, lease];
  }

  /** Removes a replica, and returns how many there were of it. */
  leave(id: string): number {
    return this.#replicas.delete(id) ? 1 : 0;
  }

  /** The record in the fields of its hash. */
  fields(): Readonly<Record<string, string>> {
    const replicas = [...this.#replicas].map(([id, { at, number, held, granted }]) => {
      return [`replica:${id}`, [at, number, held.rank, held.of, granted.rank, granted.of].join(" ")];
    });
    const group = this.#group && Object.values(this.#group).join(" ");
    return Object.fromEntries(group === undefined ? replicas : [["group", group], ...replicas]);
  }

  #forget(): void {
    this.#replicas.clear();
    this.#group = undefined;
    this.#expiresAt = Number.POSITIVE_INFINITY;
  }
}

/** The place that a replica gets besides these, if any. */
function placeAmong(live: readonly Replica[], own: Place): Place | undefined {
  const taken = new Set<number>();
  let holders = 0;
  let fewest = Number.POSITIVE_INFINITY;
  for (const { held, granted } of live) {
    for (const { rank, of } of [held, granted]) {
      if (of === 0) continue;
      taken.add(rank);
      fewest = Math.min(fewest, of);
    }
    if (held.of > 0 || granted.of > 0) holders += 1;
  }
  if (own.of === 0 && fewest <= holders) return undefined;
  const of = live.length + 1;
  if (own.rank < of && !taken.has(own.rank)) return { rank: own.rank, of };
  for (let rank = 0; rank < of; rank += 1) if (!taken.has(rank)) return { rank, of };
  return undefined;
}
