import type { Clock } from "../../clock/clock.ts";
import { HeadgateError, StoreError } from "../../errors.ts";
import { lua } from "../../lua.generated.ts";
import { tagOf } from "../../stores/redis/key-names.ts";
import { storeError } from "../../stores/redis/redis-errors.ts";
import type { Place } from "./replica-share.ts";

/** The client that `split` needs: an ioredis `Redis` or `Cluster`. */
export interface SplitClient {
  eval(script: string, numberOfKeys: number, ...args: (string | number)[]): Promise<unknown>;
  hdel(key: string, field: string): Promise<unknown>;
}

/** How many beats a replica without a place sends in the time of a lease. */
const HASTE = 12;

interface MembershipOptions {
  readonly group: string;
  readonly id: string;
  readonly beatMs: number;
  readonly leaseMs: number;
  readonly clock: Clock;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: HeadgateError) => void;
}

/**
 * A replica's place in its group, held by beats. `beat.lua` has the rules by which places are given; here is the
 * other half of the promise: nothing is enforced but what the latest beat was answered, and that no longer than a
 * lease from when that beat was sent.
 */
export class Membership {
  readonly clock: Clock;
  /** How many replicas the latest answer told of. */
  replicas = 0;
  /** How often the lease ended before a beat renewed it. */
  lapses = 0;
  /** When the latest beat that was answered had been sent. */
  lastBeat: number | undefined;
  readonly #client: SplitClient;
  readonly #key: string;
  readonly #member: string;
  readonly #beatMs: number;
  readonly #leaseMs: number;
  readonly #closing = new AbortController();
  #place: Place | undefined;
  /** Until when the place is held. */
  #until = Number.NEGATIVE_INFINITY;
  #number = 0;
  /** When the beat was sent that is not answered yet, if there is one. */
  #sent: number | undefined;
  #failure: HeadgateError | undefined;
  #waiting: Waiting[] = [];

  constructor(client: SplitClient, { group, id, beatMs, leaseMs, clock }: MembershipOptions) {
    this.clock = clock;
    this.#client = client;
    this.#key = `rl:{${tagOf(`split:${group}`)}}`;
    // One who starts anew under the same id is another: what the one before held is not his.
    this.#member = `${id}/${crypto.randomUUID()}`;
    this.#beatMs = beatMs;
    this.#leaseMs = leaseMs;
    void this.#run();
  }

  /** The place that may be enforced now, if there is one. */
  place(): Place | undefined {
    if (this.#place !== undefined && this.clock.now() >= this.#until) {
      this.#place = undefined;
      this.lapses += 1;
    }
    return this.#place;
  }

  /** Why there is no place. */
  absence(): HeadgateError {
    if (this.#closing.signal.aborted)
      return new StoreError("HG_STORE_UNREACHABLE", "this replica's share was returned by close()");
    // Beats that do not agree are a mistake, and not for a fallback to cover.
    if (this.#failure !== undefined && !(this.#failure instanceof StoreError)) return this.#failure;
    const problem =
      this.lapses === 0
        ? "this replica has no share yet: wait for ready() before it takes traffic"
        : "this replica's share has lapsed: no beat was answered within the lease";
    return new StoreError("HG_STORE_UNREACHABLE", problem, { cause: this.#failure });
  }

  /** Resolves when there is a place. */
  ready(): Promise<void> {
    if (this.#closing.signal.aborted) return Promise.reject(this.absence());
    if (this.place() !== undefined) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
    });
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#place = undefined;
    this.#closing.abort();
    this.#endWaiting(({ reject }) => reject(this.absence()));
    // Whatever becomes of it, a lease later the place is free.
    const done = new AbortController();
    const patience = this.clock.sleep(this.#leaseMs, done.signal).catch(() => {});
    await Promise.race([this.#client.hdel(this.#key, `replica:${this.#member}`).catch(() => {}), patience]);
    done.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      // One beat at a time; one that is not answered within a lease is given up.
      if (this.#sent === undefined || this.clock.now() - this.#sent >= this.#leaseMs * 1000) void this.#beat();
      await this.clock.sleep(this.#pauseMs(), signal).catch(() => {});
    }
  }

  /** A replica without a place asks for one more often, unless it is refused for a mistake. */
  #pauseMs(): number {
    const isMistaken = this.#failure !== undefined && !(this.#failure instanceof StoreError);
    return this.place() !== undefined || isMistaken
      ? this.#beatMs
      : Math.min(this.#beatMs, Math.ceil(this.#leaseMs / HASTE));
  }

  async #beat(): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    const sent = this.clock.now();
    this.#sent = sent;
    const told = this.place();
    const { rank, of } = told ?? { rank: 0, of: 0 };
    const script = lua["wrappers/split/beat.lua"];
    const answered = await this.#client
      .eval(script, 1, this.#key, this.#member, number, this.#leaseMs, rank, of)
      .then(readAnswer)
      .catch(storeError);
    // The answer to a beat that was given up is void: the next one has told what is held.
    if (number !== this.#number || this.#closing.signal.aborted) return;
    this.#sent = undefined;
    if (answered instanceof StoreError) this.#failure = answered;
    // If what was told has lapsed since, Redis may have given it away before it was told.
    else if (this.place() === told) this.#accept(answered, sent);
  }

  #accept({ place, replicas, leaseMs }: BeatAnswer, sent: number): void {
    if (leaseMs !== this.#leaseMs) {
      const problem = `must be the same for the whole group, which has ${leaseMs}, got ${this.#leaseMs}`;
      const failure = new HeadgateError("HG_BAD_OPTION", "leaseMs", problem);
      this.#failure = failure;
      this.#endWaiting(({ reject }) => reject(failure));
      return;
    }
    this.#failure = undefined;
    this.lastBeat = sent;
    this.replicas = replicas;
    this.#until = sent + this.#leaseMs * 1000;
    // The same place stays the same object, so that nobody computes its shares anew.
    if (place?.rank !== this.#place?.rank || place?.of !== this.#place?.of) this.#place = place;
    if (this.place() !== undefined) this.#endWaiting(({ resolve }) => resolve());
  }

  #endWaiting(end: (waiting: Waiting) => void): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach(end);
  }
}

interface BeatAnswer {
  readonly place: Place | undefined;
  readonly replicas: number;
  readonly leaseMs: number;
}

function readAnswer(reply: unknown): BeatAnswer {
  // A client may be set to tell numbers as strings.
  const numbers = Array.isArray(reply) ? reply.map(Number) : [];
  if (numbers.length !== 4 || !numbers.every(Number.isSafeInteger)) {
    throw new StoreError("HG_STORE_REFUSED", "the server sent an unexpected reply to a heartbeat");
  }
  const [rank, of, replicas, leaseMs] = numbers;
  return { place: of === 0 ? undefined : { rank, of }, replicas, leaseMs };
}
