import { type Clock, requireClock } from "../../clock/clock.ts";
import { HeadgateError, StoreError, shown } from "../../errors.ts";
import { LONGEST_TIMER_MS, must, type Requirements, readOptions, wholeNumber } from "../../options.ts";
import type { ReservationJournal } from "../../reservations/journal.ts";
import { Deadlines, type Timed } from "../deadlines.ts";
import { localClock, localTime, type ServerClock } from "../server-clock.ts";
import type { Action, Answer, ApplyOptions, Operation, Store, StoreNodes } from "../store.ts";
import { Batcher } from "./batcher.ts";
import { tagOf } from "./key-names.ts";
import { HOLDS, SHORT } from "./lua-script.ts";
import { command, isCluster, noteReply, type RedisClient, requireClient, troubleOf } from "./redis-connection.ts";
import { isClusterDown, isElsewhere, isOfCluster, isRedirection, isScriptMissing, storeError } from "./redis-errors.ts";
import { RedisJournal } from "./redis-journal.ts";
import { RedisNotifications } from "./redis-notifications.ts";
import { RedisServers } from "./redis-servers.ts";
import { ScriptReply } from "./script-reply.ts";
import { NO_TIMES, type Plan, Planner, planOf, type Request, type Times } from "./script-request.ts";

/** Options of `RedisStore`. */
export interface RedisStoreOptions {
  /** Prefix of all keys. Default `rl`. */
  readonly prefix?: string | undefined;
  /** Maximum number of requests per script call; 1 sends each request separately. Default 64. */
  readonly maxBatch?: number | undefined;
  /** Maximum duration of a call in milliseconds. `resilient` has a shorter deadline. Default 1000. */
  readonly timeoutMs?: number | undefined;
  /** For tests: use this clock instead of the server's. */
  readonly clock?: Clock | undefined;
}

/** How long to wait before a cluster that is down is asked again. */
const RETRY_MS = 50;

const REQUIREMENTS: Requirements<RedisStoreOptions> = {
  prefix: must("a string without braces", (prefix) => typeof prefix === "string" && !/[{}]/.test(prefix)),
  maxBatch: wholeNumber(1, 1_000),
  timeoutMs: wholeNumber(1, LONGEST_TIMER_MS),
  clock: requireClock,
};

/**
 * Keeps counters in Redis, Valkey or a Redis Cluster, shared by any number of processes. Each request is atomic,
 * however many limits it has. Redis's clock decides, and concurrent requests are sent in one call.
 */
export class RedisStore implements Store {
  readonly clock: Clock;
  readonly journal: ReservationJournal;
  readonly notifications: RedisNotifications;
  readonly nodes: StoreNodes;
  private readonly servers: RedisServers;
  private readonly ownClock: Clock | undefined;
  private readonly timeoutMs: number;
  private readonly planner: Planner;
  private readonly outbox: Batcher;
  private readonly deadlines: Deadlines;

  /**
   * `server` is a URL or an ioredis client, which the store does not close. URLs: `redis://host:6379/2`; for a cluster,
   * several of them separated by commas, or `redis+cluster://host:7000,host:7001`; for Sentinel,
   * `redis+sentinel://host:26379,host:26379/master`. With TLS: `rediss`, `rediss+cluster`, `rediss+sentinel`.
   */
  constructor(server: string | RedisClient, options: RedisStoreOptions = {}) {
    const { prefix = "rl", maxBatch = 64, timeoutMs = 1_000, clock } = readOptions(options, REQUIREMENTS);
    if (typeof server !== "string") {
      requireClient(server);
      if (isCluster(server)) requireNoKeyPrefix(server.options.keyPrefix);
    }
    this.servers = new RedisServers(server, (client) => this.notifications.use(client));
    this.nodes = { of: (key) => this.servers.masterOf(`{${tagOf(key)}}`), all: () => this.servers.names };
    this.ownClock = clock;
    this.clock = clock ?? this.servers.clock;
    this.timeoutMs = timeoutMs;
    this.deadlines = new Deadlines(localClock, timeoutMs * 1_000);
    this.planner = new Planner(prefix);
    this.notifications = new RedisNotifications(this.servers.client, prefix);
    this.journal = new RedisJournal(
      prefix,
      (keys, args) => this.runHolds(keys, args),
      () => this.ownClock?.now() ?? "",
      () => this.servers.isClosed,
    );
    this.outbox = new Batcher(
      maxBatch,
      ({ keys: [key] }) => this.servers.nodeOf(key),
      (requests, node) => this.send(requests, node),
    );
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    const apart = this.servers.isCluster ? keysApart(operations) : undefined;
    if (apart !== undefined) throw apart;
    return new Promise((resolve, reject) => {
      this.outbox.add(this.planner.request(action, operations, this.byLocalTime(options), resolve, reject));
    });
  }

  /** Connects and loads the scripts, so that the first checks do not have to. */
  async ready(): Promise<void> {
    const { servers } = this;
    await servers.connecting;
    try {
      if (servers.masters.length === 0) {
        throw new StoreError("HG_STORE_UNREACHABLE", "no node of the cluster can be reached");
      }
      await Promise.all(servers.masters.map((server) => this.prepare(server)));
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  private async prepare(server: RedisClient): Promise<void> {
    const sent = localTime();
    const reply = new ScriptReply(await run(server, planOf([], NO_TIMES, true), [], 0));
    this.servers.clockOf(this.servers.nameOf(server)).learn(reply.time, sent, localTime());
    // If loading is not permitted, the script is sent with the first call.
    await server.call("script", "LOAD", SHORT.text).catch(() => {});
  }

  /** Sends pending requests and closes the connections that the store opened. */
  async close(): Promise<void> {
    this.outbox.flush();
    this.notifications.close();
    await this.servers.close();
  }

  /** Converts times of the store's clock to local time, because the nodes of a cluster have different clocks. */
  private byLocalTime(options: ApplyOptions | undefined): ApplyOptions | undefined {
    if (options?.voidFrom === undefined || this.ownClock !== undefined) return options;
    const due = localTime() + options.voidFrom - this.clock.now();
    // Whole milliseconds, so that requests sent together share one value.
    return { ...options, voidFrom: Math.max(1, Math.ceil(due / 1_000) * 1_000) };
  }

  /** When a call becomes void. Before a node's first reply, its time is unknown. */
  private times(clock: ServerClock, due: number): Times {
    if (this.ownClock !== undefined) return { now: this.ownClock.now(), voidFrom: 0, ahead: 0 };
    if (!clock.isKnown) return NO_TIMES;
    const ahead = clock.mostAhead;
    return { now: "", voidFrom: Math.ceil(due) + ahead, ahead };
  }

  /** `due`: a request that is sent again gets no extra time. `hasMoved`: its node is no longer known. */
  private async send(
    requests: readonly Request[],
    node: string,
    due = localTime() + this.timeoutMs * 1_000,
    hasMoved = false,
  ): Promise<void> {
    const call = new Call(requests, due, this.timeoutMs);
    const times = this.times(this.servers.clockOf(node), due);
    this.deadlines.add(call);
    try {
      const { connecting, isCluster } = this.servers;
      if (connecting !== undefined) {
        await connecting;
        // Requests whose callers have given up while waiting for the connection are not sent.
        if (localTime() >= due || requests.some((request) => this.isVoid(request))) throw tooLate();
      }
      if (this.servers.isCluster === isCluster) await this.ask(requests, times, node, due, hasMoved);
      else this.deal(requests, due);
    } catch (error) {
      this.fail(requests, error, node, due, hasMoved);
    }
    this.deadlines.delete(call);
  }

  /** Sends requests to the nodes that have their keys now. */
  private deal(requests: readonly Request[], due: number): void {
    const byNode = new Map<string, Request[]>();
    for (const request of requests) {
      // When the request was made, it may not have been known that this is a cluster.
      const apart = this.servers.isCluster ? keysApart(request.operations) : undefined;
      if (apart !== undefined) {
        request.reject(apart);
        continue;
      }
      const node = this.servers.nodeOf(request.keys[0]);
      const others = byNode.get(node);
      if (others === undefined) byNode.set(node, [request]);
      else others.push(request);
    }
    for (const [node, group] of byNode) void this.send(group, node, due);
  }

  private isVoid({ voidFrom }: Request): boolean {
    return this.ownClock === undefined && voidFrom > 0 && localTime() >= voidFrom;
  }

  private async ask(
    requests: readonly Request[],
    times: Times,
    node: string,
    due: number,
    hasMoved: boolean,
  ): Promise<void> {
    const keys = requests.length === 1 ? requests[0].keys : requests.flatMap(({ keys }) => keys);
    const { client } = this.servers;
    const { server, declared } = this.servers.route(keys, requests.length, hasMoved);
    const sent = localTime();
    const reply = new ScriptReply(await run(server, planOf(requests, times, declared > 0), keys, declared));
    // A cluster client may have followed a redirection, so the time could be that of another node.
    if (server !== client || !isCluster(client)) this.servers.clockOf(node).learn(reply.time, sent, localTime());
    noteReply(client);
    this.settle(requests, reply, node, due);
  }

  /** Calls of the journal have the same timeout. */
  private runHolds(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const expire = (): void => reject(unanswered(this.timeoutMs));
      const call: Timed = { due: localTime() + this.timeoutMs * 1_000, before: undefined, after: undefined, expire };
      this.deadlines.add(call);
      const asked = (): Promise<unknown> => run(this.servers.client, { script: HOLDS, args }, keys, keys.length);
      const { connecting } = this.servers;
      (connecting === undefined ? asked() : connecting.then(asked))
        .then(resolve, (error: unknown) => reject(this.failureOf(error)))
        .finally(() => this.deadlines.delete(call));
    });
  }

  private settle(requests: readonly Request[], reply: ScriptReply, node: string, due: number): void {
    for (const request of requests) {
      const answers = reply.next(request);
      if (!(answers instanceof Error)) request.resolve(answers);
      else if (requests.length > 1 && isElsewhere(answers)) this.sendAgain(request, node, due);
      else if (isClusterDown(answers)) this.retry([request], answers, due);
      else request.reject(answers);
    }
  }

  private fail(requests: readonly Request[], error: unknown, node: string, due: number, hasMoved: boolean): void {
    const { servers } = this;
    if (isOfCluster(error) && servers.becomeCluster()) {
      this.deal(requests, due);
      return;
    }
    if (!hasMoved && servers.isCluster && (isRedirection(error) || (requests.length > 1 && isElsewhere(error)))) {
      for (const request of requests) this.sendAgain(request, node, due);
      return;
    }
    const failure = this.failureOf(error);
    if (isClusterDown(error)) this.retry(requests, failure, due);
    else for (const { reject } of requests) reject(failure);
  }

  private failureOf(error: unknown): StoreError {
    const { client, isClosed } = this.servers;
    noteReply(client, error);
    return isClosed ? closed() : storeError(error, troubleOf(client));
  }

  private sendAgain(request: Request, node: string, due: number): void {
    if (localTime() < due) void this.send([request], node, due, true);
    else request.reject(tooLate());
  }

  /** Retries what a cluster that is down has not charged; requests without time left fail with its error. */
  private retry(requests: readonly Request[], failure: Error, due: number): void {
    const next = localTime() + RETRY_MS * 1_000;
    const inTime: Request[] = [];
    for (const request of requests) {
      const { voidFrom } = request;
      if (next < (this.ownClock === undefined && voidFrom > 0 ? Math.min(due, voidFrom) : due)) inTime.push(request);
      else request.reject(failure);
    }
    if (inTime.length > 0) setTimeout(() => this.deal(inTime, due), RETRY_MS);
  }
}

function tooLate(): StoreError {
  return new StoreError("HG_STORE_TIMEOUT", "the request could not be sent to Redis in time; nothing was charged");
}

function unanswered(timeoutMs: number): StoreError {
  return new StoreError("HG_STORE_TIMEOUT", `Redis did not answer within ${timeoutMs} ms`, { scope: "call" });
}

function closed(): StoreError {
  return new StoreError("HG_STORE_UNREACHABLE", "this store is closed: create a new one");
}

/** A batch in flight. */
class Call implements Timed {
  readonly due: number;
  before: Timed | undefined;
  after: Timed | undefined;
  private readonly requests: readonly Request[];
  private readonly timeoutMs: number;

  constructor(requests: readonly Request[], due: number, timeoutMs: number) {
    this.requests = requests;
    this.due = due;
    this.timeoutMs = timeoutMs;
  }

  expire(): void {
    const error = unanswered(this.timeoutMs);
    for (const { reject } of this.requests) reject(error);
  }
}

/** Runs a script; a server that does not have it gets it with the call. */
async function run(
  server: RedisClient,
  { script, args }: Plan,
  keys: readonly string[],
  declared: number,
): Promise<unknown> {
  const rest = declared > 0 ? [declared, ...keys, ...args] : [0, ...args, ...keys];
  try {
    return await command(server, "evalsha", [script.sha, ...rest]);
  } catch (error) {
    if (!isScriptMissing(error)) throw error;
    return command(server, "eval", [script.text, ...rest]);
  }
}

/** ioredis adds the prefix only to declared keys. */
function requireNoKeyPrefix(keyPrefix: string | undefined): void {
  if (keyPrefix !== undefined && keyPrefix !== "") {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "server",
      "must not have a keyPrefix on a cluster: use the store's own prefix option",
    );
  }
}

/** A script call can access keys of one slot, and all limits of one identity are in one slot. */
function keysApart(operations: readonly Operation[]): HeadgateError | undefined {
  const [{ key }] = operations;
  const other = operations.findIndex((operation) => operation.key !== key);
  if (other < 0) return undefined;
  return new HeadgateError(
    "HG_KEYS_APART",
    `checks[${other}].key`,
    `must be ${shown(key)} as in checks[0]: a Redis Cluster keeps different keys on different servers, so no request can be charged to both or to none`,
  );
}
