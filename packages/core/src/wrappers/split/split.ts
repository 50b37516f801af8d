import { traitsOf } from "../../algorithms/lookup.ts";
import { type Clock, requireClock } from "../../clock/clock.ts";
import { SystemClock } from "../../clock/system-clock.ts";
import { HeadgateError } from "../../errors.ts";
import type { Limit } from "../../limits/limit.ts";
import { aName, type Requirements, readOptions, wholeMilliseconds, wholeNumber } from "../../options.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { rejectSlots } from "../../stores/no-slots.ts";
import { type AnyRedisClient, adapted } from "../../stores/redis/clients/adapt-client.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  askedCost,
  limitOf,
  type Operation,
  type Rule,
  type Store,
} from "../../stores/store.ts";
import { queueRoom } from "../resilient/node-share.ts";
import { Membership } from "./membership.ts";
import { type Place, shareOf } from "./replica-share.ts";

/** Options of `split`. */
export interface SplitOptions {
  /** Name of the replicas that share limits. All of them must have the same rules and the same `leaseMs`. */
  readonly group: string;
  /** Name of this replica in Redis. Default: random. */
  readonly id?: string | undefined;
  /** Interval of the heartbeat in milliseconds. Default 150. */
  readonly beatMs?: number | undefined;
  /** How long a share is valid after a heartbeat, in milliseconds: at least three heartbeats. Default 600. */
  readonly leaseMs?: number | undefined;
  /** Maximum number of keys per rule, as for a `MemoryStore`. Default 4,000,000. */
  readonly maxKeys?: number | undefined;
  /** Source of time. Must not run backwards. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** Live statistics of a `split` store. */
export interface SplitStats {
  /** Number of replicas, as of the last answered heartbeat. */
  readonly replicas: number;
  /** Rank of this replica, from 0; undefined while it has no share. */
  readonly rank: number | undefined;
  /** The limit and burst that this replica enforces for each rule in use; 0 while it has no share. */
  readonly shares: Readonly<Record<string, { readonly limit: number; readonly burst: number }>>;
  /** When the last answered heartbeat was sent, in milliseconds since the epoch. */
  readonly lastBeatMs: number | undefined;
  /** How often the share lapsed because no heartbeat was answered in time. */
  readonly lapses: number;
}

const LONGEST_MS = 86_400_000;
const FEWEST_BEATS = 3;

const REQUIREMENTS: Requirements<SplitOptions> = {
  group: aName,
  id: aName,
  beatMs: wholeMilliseconds(1, LONGEST_MS),
  leaseMs: wholeMilliseconds(1, LONGEST_MS),
  maxKeys: wholeNumber(1),
  clock: requireClock,
};

/**
 * A store that enforces this replica's share of each limit in memory, for evenly distributed traffic. The shares follow
 * the number of live replicas and never add up to more than the limit. `client` is a `RedisStore` or a Redis client, as
 * for `RedisStore`, and is not closed.
 */
export function split(client: AnyRedisClient, options: SplitOptions): Split {
  return new Split(client, options);
}

/** A store made by `split`. Its decisions have the source "lease" and are not degraded. */
export class Split implements Store {
  readonly clock: Clock;
  readonly takesFirst = true;
  readonly #membership: Membership;
  readonly #memory: MemoryStore;
  /** The full limits of the rules in use. */
  readonly #rules = new Map<string, Limit>();
  readonly #shares = new WeakMap<Limit, Share>();
  readonly #lease: number;

  constructor(client: AnyRedisClient, options: SplitOptions) {
    const { group, id = crypto.randomUUID(), beatMs = 150, leaseMs = 600 } = readOptions(options, REQUIREMENTS);
    const { clock = new SystemClock() } = options;
    const redis = adapted(client, "client", "a RedisStore");
    aName(group, "group");
    if (leaseMs < FEWEST_BEATS * beatMs) {
      const problem = `must be at least ${FEWEST_BEATS} times beatMs (${beatMs}), got ${leaseMs}: one heartbeat may be late`;
      throw new HeadgateError("HG_BAD_OPTION", "leaseMs", problem);
    }
    this.clock = clock;
    this.#lease = leaseMs * 1000;
    this.#memory = new MemoryStore({ clock, ...("maxKeys" in options && { maxKeys: options.maxKeys }) });
    this.#membership = new Membership(redis, { group, id, beatMs, leaseMs, clock });
  }

  /** Live statistics of this replica. */
  get stats(): SplitStats {
    const { replicas, lapses, lastBeat } = this.#membership;
    const place = this.#membership.place();
    const shares = [...this.#rules].map(([name, limit]) => [name, inForce(limit, place)]);
    return {
      replicas,
      rank: place?.rank,
      shares: Object.fromEntries(shares),
      lastBeatMs: lastBeat === undefined ? undefined : lastBeat / 1000,
      lapses,
    };
  }

  open(rule: Rule): void {
    rejectSlots(rule, "split", "use a Redis store for it, whose slots all replicas share");
  }

  /**
   * Resolves when this replica has its share: for the first replicas of a group after one lease, for later ones after a
   * few heartbeats.
   */
  ready(): Promise<void> {
    return this.#membership.ready();
  }

  /** Returns the share. The other replicas get it with their next heartbeat. */
  close(): Promise<void> {
    return this.#membership.close();
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): readonly Answer[] {
    const place = this.#membership.place();
    if (place === undefined) throw this.#membership.absence();
    const shared = operations.map((operation) => ({ ...operation, limit: this.#share(operation, place) }));
    const answers = this.#memory.apply(action, shared, options);
    return answers.map((answer, i) => {
      const whole = limitOf(operations[i]);
      const remaining = remainingOf(whole, shared[i].limit, answer);
      const retryAfter = this.#wait(answer, whole, askedCost(action, operations[i]));
      return { ...answer, remaining, retryAfter, source: "lease" };
    });
  }

  /**
   * A request that exceeds this share may fit the next one: only a cost above the whole limit can never be admitted.
   */
  #wait({ retryAfter }: Answer, whole: Limit, cost: number): number {
    return retryAfter === Number.POSITIVE_INFINITY && cost <= whole.burst ? this.#lease : retryAfter;
  }

  #share(operation: Operation, place: Place): Limit {
    const whole = limitOf(operation);
    this.#rules.set(operation.rule.name, operation.rule.limit);
    const known = this.#shares.get(whole);
    if (known?.place === place) return known.limit;
    const limit = shareOf(whole, place);
    this.#shares.set(whole, { place, limit });
    return limit;
  }
}

/** A limit as enforced here. */
interface Share {
  readonly place: Place;
  readonly limit: Limit;
}

/** What is left of the share. For a queue, the equivalent of the whole queue, from which the delay is computed. */
function remainingOf(whole: Limit, share: Limit, { remaining }: Answer): number {
  const isQueue = traitsOf(whole).queue && share !== whole && share.burst > 0;
  return isQueue ? queueRoom(whole, share, remaining) : remaining;
}

function inForce(whole: Limit, place: Place | undefined): { limit: number; burst: number } {
  if (place === undefined) return { limit: 0, burst: 0 };
  const { limit, burst } = shareOf(whole, place);
  return { limit, burst };
}
