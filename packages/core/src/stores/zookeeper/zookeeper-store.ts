import { rowsNameOf } from "../../algorithms/lookup.ts";
import type { Clock } from "../../clock/clock.ts";
import { Deadlines } from "../deadlines.ts";
import { fingerprint, IDEMPOTENCY_WINDOW } from "../idempotency-fingerprint.ts";
import type { Notifications } from "../notifications.ts";
import { digest } from "../redis/key-names.ts";
import { localClock, localTime } from "../server-clock.ts";
import { requireSlots } from "../slot-operations.ts";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  counterOf,
  type Operation,
  type Rule,
  type Store,
} from "../store.ts";
import { CompareAndSet } from "./compare-and-set.ts";
import { KnownZnodes } from "./known-znodes.ts";
import { LeaderClock } from "./leader-clock.ts";
import { PendingRequest, type RequestSpec } from "./pending-request.ts";
import { Places } from "./znode-names.ts";
import { ZnodeQueues } from "./znode-queues.ts";
import { Sweeper } from "./znode-sweeper.ts";
import { ANY_VERSION, Connection } from "./zookeeper-connection.ts";
import { closed, isMissing, storeError } from "./zookeeper-errors.ts";
import { ZooKeeperNotifications } from "./zookeeper-notifications.ts";
import { readZooKeeperOptions, type Settings, type ZooKeeperStoreOptions } from "./zookeeper-options.ts";

/** How long a server may take to respond, unless requests have more time. */
const SILENCE_MS = 1_000;

const NOTHING = Buffer.alloc(0);

/** Statistics of a `ZooKeeperStore`. */
export interface ZooKeeperStats {
  /** Number of reads, and of writes. */
  readonly reads: number;
  readonly writes: number;
  /** Number of writes that failed because another process was faster. */
  readonly conflicts: number;
}

/**
 * Keeps counters in ZooKeeper, shared by any number of processes: one znode per rule and key. Each request is one
 * compare-and-set, however many limits it has. The clock of the ensemble's leader decides.
 */
export class ZooKeeperStore implements Store {
  readonly clock: Clock;
  readonly takesFirst = true;
  readonly notifications: Notifications;
  // Private, because it contains the password.
  readonly #settings: Settings;
  private readonly time: LeaderClock;
  private readonly places: Places;
  private readonly known = new KnownZnodes();
  private readonly connection: Connection;
  private readonly board: ZooKeeperNotifications;
  private readonly rounds: CompareAndSet;
  private readonly lanes: ZnodeQueues;
  private readonly sweeper: Sweeper;
  private readonly deadlines: Deadlines;
  private readonly sweeps: NodeJS.Timeout | undefined;
  private readonly ended = (request: PendingRequest): void => {
    this.deadlines.delete(request);
  };
  private asking: Promise<void> | undefined;
  private closing: Promise<void> | undefined;

  /** `servers` is `zk1:2181,zk2:2181,zk3:2181`, or an array of addresses. */
  constructor(servers: string | readonly string[], options: ZooKeeperStoreOptions = {}) {
    const settings = readZooKeeperOptions(servers, options);
    this.#settings = settings;
    const { root, timeoutMs, sessionTimeoutMs, auth, purgeEveryMs } = settings;
    this.time = new LeaderClock(settings.clock);
    this.clock = this.time.clock;
    this.places = new Places(root);
    this.deadlines = new Deadlines(localClock, timeoutMs * 1_000);
    this.board = new ZooKeeperNotifications(() => this.connection, this.places);
    this.notifications = this.board;
    this.connection = new Connection(settings.servers, {
      sessionTimeoutMs,
      silenceMs: Math.max(SILENCE_MS, timeoutMs),
      auth,
      onOpen: () => this.begin(),
    });
    this.rounds = new CompareAndSet(this.connection, this.known, this.time, () => this.askTime());
    this.lanes = new ZnodeQueues((requests) => this.decide(requests));
    this.sweeper = new Sweeper(this.connection, this.known, this.places, this.time);
    if (purgeEveryMs > 0)
      this.sweeps = setInterval(() => void this.sweepInTurn().catch(() => {}), purgeEveryMs).unref();
  }

  /** Live statistics of this process. */
  get stats(): ZooKeeperStats {
    return { ...this.connection.calls, conflicts: this.rounds.contested.conflicts };
  }

  apply(action: Action, operations: readonly Operation[], options: ApplyOptions = {}): Promise<readonly Answer[]> {
    if (this.closing !== undefined) return Promise.reject(closed());
    if (operations.length === 0) return Promise.resolve([]);
    for (const operation of operations) requireSlots(action, operation);
    if (action === "extend" && operations.length > 1) return this.extendEach(operations, options);
    return new Promise((resolve, reject) => {
      const due = localTime() + this.#settings.timeoutMs * 1_000;
      const request = new PendingRequest(this.spec(action, operations, options), due, this.ended, resolve, reject);
      this.deadlines.add(request);
      this.lanes.add(request);
    });
  }

  /** Each slot on its own: those of one key share a write, and those of different keys do not wait for each other. */
  private async extendEach(operations: readonly Operation[], options: ApplyOptions): Promise<readonly Answer[]> {
    const answers = await Promise.all(operations.map((operation) => this.apply("extend", [operation], options)));
    return answers.flat();
  }

  /** Connects, creates the root and reads the time, so that the first checks do not have to. */
  async ready(): Promise<void> {
    await this.connection.first;
    try {
      await this.askTime();
    } catch (error) {
      throw storeError(error);
    }
  }

  /** Deletes expired znodes, which also happens in the background. Resolves with their number. */
  async purge(): Promise<number> {
    await this.connection.first;
    try {
      if (!this.time.isKnown) await this.askTime();
      return await this.sweeper.sweep();
    } catch (error) {
      throw storeError(error);
    }
  }

  /** The path of the znode of a key, for example for zkCli. */
  pathOf(rule: Rule, key: string): string {
    return this.places.row(counterOf(rule), rowsNameOf(rule.limit), key);
  }

  /** Answers pending requests and ends the session. */
  close(): Promise<void> {
    this.closing ??= this.end();
    return this.closing;
  }

  private async end(): Promise<void> {
    clearInterval(this.sweeps);
    await this.lanes.emptied();
    await this.connection.close();
    this.deadlines.end();
  }

  private spec(action: Action, operations: readonly Operation[], options: ApplyOptions): RequestSpec {
    const { idempotencyKey, rememberFor = IDEMPOTENCY_WINDOW, voidFrom = Number.POSITIVE_INFINITY } = options;
    return {
      action,
      operations,
      paths: operations.map(({ rule, key }) => this.pathOf(rule, key)),
      voidFrom,
      memory:
        idempotencyKey === undefined
          ? undefined
          : {
              path: this.places.request(operations[0].key, idempotencyKey),
              request: digest(fingerprint(action, operations, options.context)),
              rememberFor,
              forgetsDenial: options.forgetsDenial,
            },
    };
  }

  /** Requests wait for the first connection, but not for later ones. */
  private async decide(requests: readonly PendingRequest[]): Promise<void> {
    if (!this.connection.isConnected) await this.connection.first;
    await this.rounds.decide(requests);
  }

  /** What was cached in an earlier session may have changed. */
  private begin(): void {
    this.known.clear();
    this.board.renew();
    void this.askTime().catch(() => {});
  }

  /** One call for all that need the time now. */
  private askTime(): Promise<void> {
    this.asking ??= this.touch().finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }

  private async touch(): Promise<void> {
    const { clock } = this.places;
    for (let isFirst = true; ; isFirst = false) {
      const sent = localTime();
      try {
        this.time.learn(await this.connection.set(clock, NOTHING, ANY_VERSION), sent);
        return;
      } catch (error) {
        if (!isFirst || !isMissing(error)) throw error;
        await this.connection.makeParents(clock);
        await this.connection.make(clock);
      }
    }
  }

  /** In each interval, one of the processes that share the store sweeps. */
  private async sweepInTurn(): Promise<void> {
    const { sweep } = this.places;
    const { purgeEveryMs } = this.#settings;
    await this.connection.makeParents(sweep);
    await this.connection.make(sweep);
    const reading = await this.connection.read(sweep);
    if (reading === undefined) return;
    const now = this.time.now();
    // Slightly early, so that a punctual timer does not miss its turn.
    if (now - Number(reading.data.toString()) < purgeEveryMs * 900) return;
    await this.connection.set(sweep, Buffer.from(String(now)), reading.stat.version);
    await this.sweeper.sweep();
  }
}
