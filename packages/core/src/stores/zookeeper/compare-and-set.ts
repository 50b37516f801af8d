import { setTimeout as delay } from "node:timers/promises";
import type { Stat } from "node-zookeeper-client";
import { localTime } from "../server-clock.ts";
import { ContendedZnodes } from "./contended-znodes.ts";
import type { KnownZnodes, Seen } from "./known-znodes.ts";
import type { LeaderClock } from "./leader-clock.ts";
import type { PendingRequest } from "./pending-request.ts";
import { restoreTombstone } from "./tombstones.ts";
import { type Change, TransactionDraft } from "./transaction-draft.ts";
import { contentsOf } from "./znode-contents.ts";
import { ANY_VERSION, type Connection, type Step } from "./zookeeper-connection.ts";
import { isConflict, isMissing, storeError } from "./zookeeper-errors.ts";

/** A znode is recreated before its version reaches one that ZooKeeper treats as a wildcard. */
const LAST_VERSION = 2 ** 31 - 2;

/** Maximum wait after a conflict, in milliseconds: none at first, then doubling each time. */
const LONGEST_WAIT_MS = 8;

/**
 * Decides requests by compare-and-set: reads the znodes, runs the algorithm, and writes the result on condition that
 * the versions are unchanged. After a conflict, it starts again.
 */
export class CompareAndSet {
  readonly contested = new ContendedZnodes();
  private readonly connection: Connection;
  private readonly known: KnownZnodes;
  private readonly time: LeaderClock;
  /** Performs a write to learn the time. */
  private readonly askTime: () => Promise<void>;

  constructor(connection: Connection, known: KnownZnodes, time: LeaderClock, askTime: () => Promise<void>) {
    this.connection = connection;
    this.known = known;
    this.time = time;
    this.askTime = askTime;
  }

  /** Settles all requests, whatever happens. */
  async decide(requests: readonly PendingRequest[]): Promise<void> {
    const begun = localTime();
    try {
      if (!this.time.isKnown) await this.askTime();
      else if (this.time.isOld) void this.askTime().catch(() => {});
      for (let round = 0; ; round += 1) {
        const waiting = requests.filter(({ isOver }) => !isOver);
        if (waiting.length === 0) return;
        if (await this.play(waiting, begun)) return await this.contested.yield(requests[0].places);
        if (round > 0) await delay(Math.random() * Math.min(2 ** round, LONGEST_WAIT_MS));
      }
    } catch (error) {
      const failure = storeError(error);
      for (const request of requests) {
        for (const place of request.places) this.known.forget(place);
        request.settle(failure);
      }
    }
  }

  /** Returns whether the requests are settled. */
  private async play(requests: readonly PendingRequest[], begun: number): Promise<boolean> {
    const seen = await this.look(requests[0].places);
    const draft = new TransactionDraft(seen, this.time.now());
    const outcomes = requests.map(({ spec }) => draft.decide(spec));
    const settle = (): true => {
      for (const [i, request] of requests.entries()) request.settle(outcomes[i]);
      return true;
    };
    if (draft.isChanged) return (await this.write(draft, requests)) && settle();
    // Reads that change nothing are not checked against versions, so they must be newer than the request.
    const old = [...seen].filter(([, { since }]) => since < begun);
    if (old.length === 0) return settle();
    for (const [path] of old) this.known.forget(path);
    return this.play(requests, begun);
  }

  private async look(places: readonly string[]): Promise<Map<string, Seen>> {
    const seen = await Promise.all(places.map((place) => this.believed(place) ?? this.read(place)));
    return new Map(places.map((place, i) => [place, seen[i]]));
  }

  private believed(path: string): Seen | undefined {
    const seen = this.known.get(path);
    return seen === undefined || this.contested.isStale(path, seen.since) ? undefined : seen;
  }

  private async read(path: string): Promise<Seen> {
    const since = localTime();
    const reading = await this.connection.read(path);
    if (reading?.stat.version === this.known.get(path)?.version) this.contested.leave(path);
    const seen: Seen =
      reading === undefined
        ? { version: undefined, contents: { expires: Number.NEGATIVE_INFINITY }, since }
        : {
            version: reading.stat.version,
            contents: contentsOf(path, reading.data, reading.stat, this.time),
            since,
          };
    this.known.set(path, seen);
    return seen;
  }

  /** Returns whether the write counts: there was no conflict, and the leader processed it in time. */
  private async write(draft: TransactionDraft, requests: readonly PendingRequest[]): Promise<boolean> {
    const voidFrom = Math.min(...requests.map(({ due, spec }) => Math.min(spec.voidFrom, this.time.voidFrom(due))));
    const changes = new Map<string, Change>();
    const steps: Step[] = [];
    for (const [path, seen] of draft.seen) {
      const change = draft.change(path, voidFrom);
      if (change !== undefined) changes.set(path, change);
      steps.push(...stepsFor(path, seen, change?.text));
    }
    const sent = localTime();
    let stats: ReadonlyMap<string, Stat>;
    try {
      stats = await this.send(steps);
    } catch (error) {
      for (const path of draft.seen.keys()) this.known.forget(path);
      if (!isConflict(error)) throw error;
      if (isMissing(error)) await this.mend(draft.seen);
      else this.contested.add(draft.seen.keys());
      return false;
    }
    let isVoid = false;
    for (const [path, stat] of stats) {
      const change = changes.get(path);
      if (change === undefined) continue;
      this.time.learn(stat, sent);
      isVoid = this.time.isVoid(stat, voidFrom);
      this.known.set(path, { version: stat.version, contents: isVoid ? change.undone : change.contents, since: sent });
    }
    return !isVoid;
  }

  private async send(steps: readonly Step[]): Promise<ReadonlyMap<string, Stat>> {
    const [step] = steps;
    if (steps.length > 1 || step.do !== "set") return this.connection.commit(steps);
    return new Map([[step.path, await this.connection.set(step.path, step.data, step.version)]]);
  }

  /** Creates znodes that are missing because they are new or were deleted manually. */
  private async mend(seen: ReadonlyMap<string, Seen>): Promise<void> {
    for (const [path, { version, contents }] of seen) {
      if (version === undefined) await this.connection.makeParents(path);
      else if (contents.tombstone !== undefined)
        await restoreTombstone(this.connection, contents.tombstone, path, version, this.time.now());
    }
  }
}

/**
 * The steps that change a znode, or verify that it has not changed. A znode that is created is written immediately, so
 * that its version is not 0, which the client treats as a wildcard in transactions.
 */
export function stepsFor(path: string, { version, contents }: Seen, data: Buffer | undefined): Step[] {
  const made: Step[] =
    data === undefined
      ? []
      : [
          { do: "create", path },
          { do: "set", path, data, version: ANY_VERSION },
        ];
  if (version === undefined) {
    return data === undefined
      ? [
          { do: "create", path },
          { do: "remove", path, version: ANY_VERSION },
        ]
      : made;
  }
  if (data === undefined) return [{ do: "check", path, version }];
  if (version >= LAST_VERSION) return [{ do: "remove", path, version }, ...made];
  const change: Step = { do: "set", path, data, version };
  return contents.tombstone === undefined
    ? [change]
    : [{ do: "remove", path: contents.tombstone, version: ANY_VERSION }, change];
}
