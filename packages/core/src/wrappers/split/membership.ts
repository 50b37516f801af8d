import type { Clock } from "../../clock/clock.ts";
import { HeadgateError, StoreError } from "../../errors.ts";
import { lua } from "../../lua.generated.ts";
import type { RedisClient } from "../../stores/redis/clients/redis-client.ts";
import { tagOf } from "../../stores/redis/key-names.ts";
import { storeError } from "../../stores/redis/redis-errors.ts";
import type { Place } from "./replica-share.ts";

/** How many heartbeats a replica without a place sends per lease. */
const BEATS_WITHOUT_PLACE = 12;

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
 * A replica's place in its group, kept by heartbeats. `beat.lua` assigns the places. This class makes sure that the
 * replica enforces only the place in the latest reply, and no longer than one lease after that heartbeat was sent.
 */
export class Membership {
  readonly clock: Clock;
  /** Number of replicas in the latest reply. */
  replicas = 0;
  /** How often the lease expired before a heartbeat renewed it. */
  lapses = 0;
  /** When the latest answered heartbeat was sent. */
  lastBeat: number | undefined;
  readonly #client: Pick<RedisClient, "send">;
  readonly #key: string;
  readonly #member: string;
  readonly #beatMs: number;
  readonly #leaseMs: number;
  readonly #closing = new AbortController();
  #place: Place | undefined;
  /** When the place expires. */
  #until = Number.NEGATIVE_INFINITY;
  #number = 0;
  /** When the pending heartbeat was sent, if there is one. */
  #sent: number | undefined;
  #failure: HeadgateError | undefined;
  #waiting: Waiting[] = [];

  constructor(client: Pick<RedisClient, "send">, { group, id, beatMs, leaseMs, clock }: MembershipOptions) {
    this.clock = clock;
    this.#client = client;
    this.#key = `rl:{${tagOf(`split:${group}`)}}`;
    // A replica that restarts under the same id is a different member and does not inherit the place.
    this.#member = `${id}/${crypto.randomUUID()}`;
    this.#beatMs = beatMs;
    this.#leaseMs = leaseMs;
    void this.#run();
  }

  /** The place that may be enforced now, if any. */
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
    // Heartbeats with different settings are a mistake that a fallback must not hide.
    if (this.#failure !== undefined && !(this.#failure instanceof StoreError)) return this.#failure;
    const problem =
      this.lapses === 0
        ? "this replica has no share yet: wait for ready() before accepting traffic"
        : "this replica's share has lapsed: no heartbeat was answered within the lease";
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
    // Even if this fails, the place is free after one lease.
    const done = new AbortController();
    const patience = this.clock.sleep(this.#leaseMs, done.signal).catch(() => {});
    await Promise.race([this.#send("HDEL", this.#key, `replica:${this.#member}`).catch(() => {}), patience]);
    done.abort();
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      // One heartbeat at a time; it is abandoned if it is not answered within a lease.
      if (this.#sent === undefined || this.clock.now() - this.#sent >= this.#leaseMs * 1000) void this.#beat();
      await this.clock.sleep(this.#pauseMs(), signal).catch(() => {});
    }
  }

  /** A replica without a place asks more often, unless its settings were rejected. */
  #pauseMs(): number {
    const isMistaken = this.#failure !== undefined && !(this.#failure instanceof StoreError);
    return this.place() !== undefined || isMistaken
      ? this.#beatMs
      : Math.min(this.#beatMs, Math.ceil(this.#leaseMs / BEATS_WITHOUT_PLACE));
  }

  async #beat(): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    const sent = this.clock.now();
    this.#sent = sent;
    const reported = this.place();
    const { rank, of } = reported ?? { rank: 0, of: 0 };
    const script = lua["wrappers/split/beat.lua"];
    const answered = await this.#send("EVAL", script, 1, this.#key, this.#member, number, this.#leaseMs, rank, of)
      .then(readAnswer)
      .catch(storeError);
    // The reply to an abandoned heartbeat is void: the next one has reported the current place.
    if (number !== this.#number || this.#closing.signal.aborted) return;
    this.#sent = undefined;
    if (answered instanceof StoreError) this.#failure = answered;
    // If the reported place has expired since, Redis may have assigned it to another replica before it got the report.
    else if (this.place() === reported) this.#accept(answered, sent);
  }

  #send(...command: readonly (string | number)[]): Promise<unknown> {
    return this.#client.send(command.map(String), this.#key);
  }

  #accept({ place, replicas, leaseMs }: BeatAnswer, sent: number): void {
    if (leaseMs !== this.#leaseMs) {
      const problem = `must be the same for the whole group, which uses ${leaseMs}, got ${this.#leaseMs}`;
      const failure = new HeadgateError("HG_BAD_OPTION", "leaseMs", problem);
      this.#failure = failure;
      this.#endWaiting(({ reject }) => reject(failure));
      return;
    }
    this.#failure = undefined;
    this.lastBeat = sent;
    this.replicas = replicas;
    this.#until = sent + this.#leaseMs * 1000;
    // Keep the same object for the same place, so that shares are not computed again.
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
  // A client may be configured to return numbers as strings or Buffers.
  const numbers = Array.isArray(reply) ? reply.map(Number) : [];
  if (numbers.length !== 4 || !numbers.every(Number.isSafeInteger)) {
    throw new StoreError("HG_STORE_REFUSED", "the server sent an unexpected reply to a heartbeat");
  }
  const [rank, of, replicas, leaseMs] = numbers;
  return { place: of === 0 ? undefined : { rank, of }, replicas, leaseMs };
}
