import { type Clock, requireClock } from "../../clock/clock.ts";
import { StoreError } from "../../errors.ts";
import { LONGEST_TIMER_MS, must, type Requirements, readOptions, wholeNumber } from "../../options.ts";
import { Deadlines, type Timed } from "../deadlines.ts";
import { localClock, localTime, type ServerClock } from "../server-clock.ts";
import { requireSlots } from "../slot-operations.ts";
import type { Action, Answer, ApplyOptions, Operation, Rule, Store, StoreNodes } from "../store.ts";
import { Batcher } from "./batcher.ts";
import type { AnyRedisClient } from "./clients/adapt-client.ts";
import type { RedisArgument, RedisClient, RedisConnection } from "./clients/redis-client.ts";
import { tagOf } from "./key-names.ts";
import { keysApart } from "./keys-apart.ts";
import { JOURNAL, type Script } from "./lua-script.ts";
import {
  isClusterDown,
  isElsewhere,
  isOfCluster,
  isRedirection,
  isScriptMissing,
  storeClosed,
  storeError,
  tooLate,
  unanswered,
} from "./redis-errors.ts";
import { type JournalServers, RedisJournal } from "./redis-journal.ts";
import { RedisNotifications } from "./redis-notifications.ts";
import { RedisServers } from "./redis-servers.ts";
import { type Group, groupsOf } from "./request-groups.ts";
import { runScript } from "./run-script.ts";
import { ScriptCall } from "./script-call.ts";
import { OUTSIDE_WINDOWS, ScriptReply, UNDECIDED } from "./script-reply.ts";
import { noTimes, Planner, planOf, type Request, type Times } from "./script-request.ts";

/** Options of `RedisStore`. */
export interface RedisStoreOptions {
  /** Prefix of all keys. Applications that share a Redis server need different prefixes. Default `rl`. */
  readonly prefix?: string | undefined;
  /** Maximum number of requests per script call; 1 sends each request separately. Default 64. */
  readonly maxBatch?: number | undefined;
  /** Maximum duration of a call in milliseconds. `resilient` has a shorter deadline. Default 1000. */
  readonly timeoutMs?: number | undefined;
  /** For tests: use this clock instead of the server's. */
  readonly clock?: Clock | undefined;
}

/** How many slots are extended in one call, which keeps Redis busy for 10 to 20 ms. */
const MOST_EXTENDED = 1_000;

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
  readonly takesFirst = true;
  readonly journal: RedisJournal;
  readonly notifications: RedisNotifications;
  readonly nodes: StoreNodes;
  private readonly servers: RedisServers;
  private readonly ownClock: Clock | undefined;
  private readonly timeoutMs: number;
  private readonly planner: Planner;
  private readonly outbox: Batcher;
  private readonly deadlines: Deadlines;

  /**
   * `server` is a URL, which requires ioredis, or a client of ioredis, iovalkey or redis, which the store does not close.
   * Clients of other libraries need an adapter: see `RedisClient`. URLs: `redis://host:6379/2`; for a cluster,
   * several of them separated by commas, or `redis+cluster://host:7000,host:7001`; for Sentinel,
   * `redis+sentinel://host:26379,host:26379/master`. With TLS: `rediss`, `rediss+cluster`, `rediss+sentinel`.
   */
  constructor(server: string | AnyRedisClient, options: RedisStoreOptions = {}) {
    const { prefix = "rl", maxBatch = 64, timeoutMs = 1_000, clock } = readOptions(options, REQUIREMENTS);
    this.servers = new RedisServers(server, (client) => this.notifications.use(client));
    this.nodes = { of: (key) => this.servers.masterOf(`{${tagOf(key)}}`), all: () => this.servers.names };
    this.ownClock = clock;
    this.clock = clock ?? this.servers.clock;
    this.timeoutMs = timeoutMs;
    this.deadlines = new Deadlines(localClock, timeoutMs * 1_000);
    this.planner = new Planner(prefix);
    this.notifications = new RedisNotifications(this.servers.client, prefix);
    this.journal = new RedisJournal(prefix, this.journalServers());
    this.outbox = new Batcher(
      maxBatch,
      ({ keys: [key] }) => this.servers.nodeOf(key),
      (requests, node, ended) => this.sendGroups(requests, node, ended),
    );
  }

  open(rule: Rule): void {
    this.planner.open(rule);
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    if (action === "extend") return this.extend(operations, options);
    const apart = this.servers.isCluster ? keysApart(operations) : undefined;
    if (apart !== undefined) throw apart;
    return new Promise((resolve, reject) => {
      const voidFrom = this.byLocalTime(options?.voidFrom);
      this.outbox.add(this.planner.request(action, operations, options, resolve, reject, voidFrom));
    });
  }

  /**
   * Each slot on its own, because their keys may be on different servers; those for one server are sent together. It is
   * harmless to extend a slot twice, so there is nothing to remember.
   */
  private extend(
    operations: readonly Operation[],
    { idempotencyKey: _, ...options }: ApplyOptions = {},
  ): Promise<readonly Answer[]> {
    for (const operation of operations) requireSlots("extend", operation);
    const due = localTime() + this.timeoutMs * 1_000;
    const voidFrom = this.byLocalTime(options.voidFrom);
    const requests: Request[] = [];
    const extended = operations.map(
      (operation) =>
        new Promise<readonly Answer[]>((resolve, reject) => {
          requests.push(this.planner.request("extend", [operation], options, resolve, reject, voidFrom));
        }),
    );
    for (let from = 0; from < requests.length; from += MOST_EXTENDED) {
      this.deal(requests.slice(from, from + MOST_EXTENDED), due);
    }
    return Promise.all(extended).then((answers) => answers.flat());
  }

  /** Sends a command of another kind, such as the heartbeats of `split`, with the deadline of the store. */
  send(command: readonly RedisArgument[], key?: string): Promise<unknown> {
    return this.timely(() => this.servers.client.send(command, key));
  }

  /** Connects and loads the scripts, so that the first checks do not have to. */
  async ready(): Promise<void> {
    const { servers } = this;
    await servers.connecting;
    const { masters } = servers;
    if (masters.length === 0) {
      throw this.failureOf(new StoreError("HG_STORE_UNREACHABLE", "no node of the cluster can be reached"));
    }
    await Promise.all(masters.map(([name, connection]) => this.timely(() => this.prepare(name, connection))));
  }

  private journalServers(): JournalServers {
    const { servers } = this;
    return {
      run: (keys, args) => this.timely(() => runScript(servers.client, JOURNAL, keys, args)),
      now: () => this.ownClock?.now() ?? "",
      get isCluster() {
        return servers.isCluster;
      },
      get isClosed() {
        return servers.isClosed;
      },
      get isConnected() {
        return servers.connecting === undefined;
      },
    };
  }

  private async prepare(name: string, connection: RedisConnection): Promise<void> {
    const sent = localTime();
    const { script, packed } = planOf([], noTimes(this.clock));
    const reply = new ScriptReply(await runScript(connection, script, [], [packed]));
    this.servers.node(name).clock.learn(reply.time, sent, localTime());
    // If loading is not permitted, the script is sent with the first call.
    const loads = this.planner.scripts.map(({ text }) => connection.send(["SCRIPT", "LOAD", text]));
    await Promise.all(loads.map((load) => load.catch(() => {})));
  }

  /** Sends pending requests and closes the connections that the store opened. */
  async close(): Promise<void> {
    this.outbox.flush();
    this.journal.flush();
    this.notifications.close();
    await this.servers.close(this.timeoutMs);
  }

  /**
   * Converts a time of the store's clock to local time, because the nodes of a cluster have different clocks. 0 if there
   * is none.
   */
  private byLocalTime(time: number | undefined): number {
    if (time === undefined || this.ownClock !== undefined) return time ?? 0;
    const due = localTime() + time - this.clock.now();
    // Whole milliseconds, so that requests sent together share one value.
    return Math.max(1, Math.ceil(due / 1_000) * 1_000);
  }

  /** When a call becomes void. Before a node's first reply, its time is unknown. */
  private times(clock: ServerClock, due: number): Times {
    if (this.ownClock !== undefined) {
      const now = this.ownClock.now();
      return { now, voidFrom: 0, ahead: 0, clock: { now: () => now } };
    }
    if (!clock.isKnown) return noTimes(clock);
    const ahead = clock.mostAhead;
    return { now: "", voidFrom: Math.ceil(due) + ahead, ahead, clock };
  }

  private sendGroups(requests: readonly Request[], node: string, ended: () => void): void {
    const groups: readonly Group[] = this.servers.isCluster ? [{ requests, plan: planOf }] : groupsOf(requests);
    let pending = groups.length;
    const groupEnded = (): void => {
      pending -= 1;
      if (pending === 0) ended();
    };
    for (const { requests, plan } of groups) {
      this.sendBatch(requests, node, groups.length === 1 ? ended : groupEnded, undefined, false, undefined, plan);
    }
  }

  /**
   * `due`: a request that is sent again has no more time than at first. `hasMoved`: its node is not known any more.
   * `ended` is called when the call is over. `time`: the server's time, if it has just said it.
   * `plan`: how to ask, if there is a script for what these requests have in common.
   */
  private sendBatch(
    requests: readonly Request[],
    node: string,
    ended: () => void = nothing,
    due = localTime() + this.timeoutMs * 1_000,
    hasMoved = false,
    time?: number,
    plan: Group["plan"] = planOf,
  ): void {
    // Reservations are in the journal before their quota is taken.
    this.journal.flush();
    const at = this.servers.node(node);
    const estimated = this.times(at.clock, due);
    const times = time === undefined ? estimated : { ...estimated, clock: { now: () => time } };
    const call = new ScriptCall(requests, at, times, due, this.timeoutMs, hasMoved, ended, plan);
    this.deadlines.add(call);
    const { connecting } = this.servers;
    if (connecting === undefined) this.call(call);
    else this.callLater(call, connecting).catch((error: unknown) => this.fail(call, error));
  }

  /** Sends requests when the first connection is there. */
  private async callLater(call: ScriptCall, connecting: Promise<void>): Promise<void> {
    const { isCluster } = this.servers;
    const { requests, due } = call;
    await connecting;
    // Requests whose callers have given up while waiting for the connection are not sent.
    if (localTime() >= due || requests.some((request) => this.isVoid(request))) throw tooLate();
    if (this.servers.isCluster === isCluster) {
      this.call(call);
    } else {
      this.end(call);
      this.deal(requests, due);
    }
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
    for (const [node, group] of byNode) this.sendBatch(group, node, undefined, due);
  }

  private isVoid({ voidFrom }: Request): boolean {
    return this.ownClock === undefined && voidFrom > 0 && localTime() >= voidFrom;
  }

  private call(call: ScriptCall): void {
    const { requests, node, times } = call;
    const { servers } = this;
    const { script, keys, packed } = call.plan(requests, times);
    const { connection, declared } = servers.route(node.name, keys, requests.length, call.hasMoved);
    const now = times.now === "" ? "" : String(times.now);
    const command: RedisArgument[] = ["evalsha", script.sha, String(declared)];
    if (declared > 0) {
      command.push(...keys, packed);
      if (now !== "") command.push(now);
    } else command.push(packed, now, ...keys);
    // A client of a cluster may follow a redirection: then it is another node that answers.
    call.sent(connection, !servers.isCluster || connection !== servers.client);
    connection.send(command, keys[0]).then(
      (reply) => this.receive(call, reply),
      (error: unknown) => {
        if (isScriptMissing(error)) this.callWithText(call, connection, script, command);
        else this.fail(call, error);
      },
    );
  }

  /** Again, for a server that does not have the script, or has it no more. */
  private callWithText(
    call: ScriptCall,
    connection: RedisClient,
    script: Script,
    command: readonly RedisArgument[],
  ): void {
    const [, , ...rest] = command;
    connection.send(["EVAL", script.text, ...rest], call.requests[0].keys[0]).then(
      (reply) => this.receive(call, reply),
      (error: unknown) => this.fail(call, error),
    );
  }

  private receive(call: ScriptCall, reply: unknown): void {
    const received = localTime();
    try {
      const read = new ScriptReply(reply);
      if (call.isDirect) call.node.clock.learn(read.time, call.sentAt, received);
      this.servers.noteReply();
      this.end(call, received);
      this.settle(call, read);
    } catch (error) {
      this.fail(call, error);
    }
  }

  private end(call: ScriptCall, time = localTime()): void {
    this.deadlines.delete(call);
    call.end(time);
  }

  /** Something else that has as much time as a call. */
  private timely<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const expire = (): void => reject(unanswered(this.timeoutMs));
      const call: Timed = { due: localTime() + this.timeoutMs * 1_000, before: undefined, after: undefined, expire };
      this.deadlines.add(call);
      const { connecting } = this.servers;
      (connecting === undefined ? work() : connecting.then(work))
        .then(resolve, (error: unknown) => reject(this.failureOf(error)))
        .finally(() => this.deadlines.delete(call));
    });
  }

  private settle({ requests, node, due, hasMoved }: ScriptCall, reply: ScriptReply): void {
    const undecided: Request[] = [];
    const outside: Request[] = [];
    for (const request of requests) {
      const answers = reply.next(request);
      if (answers === OUTSIDE_WINDOWS) outside.push(request);
      else if (answers === UNDECIDED) undecided.push(request);
      else if (!(answers instanceof Error)) request.resolve(answers);
      else if (requests.length > 1 && isElsewhere(answers)) this.sendAgain(request, node.name, due);
      else if (isClusterDown(answers)) this.retry([request], answers, due);
      else request.reject(answers);
    }
    if (undecided.length > 0) this.sendBatch(undecided, node.name, undefined, due, hasMoved);
    if (outside.length === 0) return;
    if (localTime() < due) this.sendBatch(outside, node.name, undefined, due, hasMoved, reply.time);
    else for (const { reject } of outside) reject(tooLate());
  }

  private fail(call: ScriptCall, error: unknown): void {
    this.end(call);
    const { requests, node, due, hasMoved } = call;
    const { servers } = this;
    if (isOfCluster(error) && servers.becomeCluster()) {
      this.deal(requests, due);
      return;
    }
    if (!hasMoved && servers.isCluster && (isRedirection(error) || (requests.length > 1 && isElsewhere(error)))) {
      for (const request of requests) this.sendAgain(request, node.name, due);
      return;
    }
    const failure = this.failureOf(error);
    if (isClusterDown(error)) this.retry(requests, failure, due);
    else for (const { reject } of requests) reject(failure);
  }

  private failureOf(error: unknown): StoreError {
    const { servers } = this;
    servers.noteReply(error);
    return servers.isClosed ? storeClosed() : storeError(error, servers.trouble);
  }

  private sendAgain(request: Request, node: string, due: number): void {
    if (localTime() < due) this.sendBatch([request], node, undefined, due, true);
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

function nothing(): void {}
