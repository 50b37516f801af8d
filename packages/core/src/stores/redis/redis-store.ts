import { HeadgateError, StoreError, shown } from "../../errors.ts";
import { requireOptions } from "../../options.ts";
import { type Clock, requireClock } from "../../time/clock.ts";
import { SystemClock } from "../../time/system-clock.ts";
import { Deadlines, type Timed } from "../deadlines.ts";
import type { Holds } from "../holds.ts";
import { localClock, localTime, ServerClock } from "../server-clock.ts";
import type { Action, Answer, ApplyOptions, Operation, Store } from "../store.ts";
import {
  command,
  connect,
  connectionTo,
  firstConnection,
  isCluster,
  type RedisClient,
  requireClient,
  troubleOf,
  unsafeSettings,
  watch,
} from "./connection.ts";
import { RedisHolds } from "./holds.ts";
import { Outbox } from "./outbox.ts";
import { NO_TIMES, type Plan, Planner, planOf, type Request, type Times } from "./plan.ts";
import { RedisBulletin } from "./redis-bulletin.ts";
import { Reply } from "./reply.ts";
import { HOLDS, SHORT } from "./script.ts";
import { isElsewhere, isRedirection, isScriptMissing, storeError } from "./server-errors.ts";
import { slotOf } from "./slots.ts";
import { warnOfServer } from "./warnings.ts";

export interface RedisStoreOptions {
  /** What all keys begin with (default `rl`). */
  readonly prefix?: string;
  /** How many requests of a tick go together in one call (default 64); 1 sends each on its own. */
  readonly maxBatch?: number;
  /** How long a call may take, in milliseconds (default 1000). `resilient` has a shorter deadline of its own. */
  readonly timeoutMs?: number;
  /** For tests: decides by this clock, and not by the server's. */
  readonly clock?: Clock;
}

/** What the one server is called, where there is no cluster. */
const ONLY_NODE = "";

const OPTIONS: ReadonlySet<string> = new Set(["prefix", "maxBatch", "timeoutMs", "clock"]);

/**
 * Keeps what was used in Redis or a Redis Cluster, for any number of processes. A request is one step of a
 * script, whatever number of limits it has; Redis's clock is the time; requests of the same tick travel together.
 */
export class RedisStore implements Store {
  readonly clock: Clock;
  readonly holds: Holds;
  readonly bulletin: RedisBulletin;
  private readonly client: RedisClient;
  private readonly isOurs: boolean;
  /** Of each node. */
  private readonly serverClocks = new Map<string, ServerClock>();
  private readonly ownClock: Clock | undefined;
  private readonly timeoutMs: number;
  private readonly planner: Planner;
  private readonly outbox: Outbox;
  private readonly deadlines: Deadlines;
  /** Calls wait for the first connection, and for no later one. */
  private connecting: Promise<void> | undefined;
  private isClosed = false;

  constructor(server: string | RedisClient, options: RedisStoreOptions = {}) {
    requireOptions(options, OPTIONS);
    const { prefix = "rl", maxBatch = 64, timeoutMs = 1_000, clock } = options;
    requirePrefix(prefix);
    requireWhole(maxBatch, "maxBatch", 1_000);
    requireWhole(timeoutMs, "timeoutMs", 2 ** 31 - 1);
    if (clock !== undefined) requireClock(clock);
    this.isOurs = typeof server === "string";
    if (typeof server !== "string") requireClient(server);
    this.client = typeof server === "string" ? connect(server) : server;
    if (isCluster(this.client)) requireNoKeyPrefix(this.client.options.keyPrefix);
    watch(this.client);
    this.ownClock = clock;
    // The nodes of a cluster have a clock each; what is said by ours is put into theirs when it is sent.
    this.clock = clock ?? (isCluster(this.client) ? new SystemClock() : this.clockOf(ONLY_NODE));
    this.timeoutMs = timeoutMs;
    this.deadlines = new Deadlines(localClock, timeoutMs * 1_000);
    this.planner = new Planner(prefix);
    this.bulletin = new RedisBulletin(this.client, prefix);
    this.holds = new RedisHolds(
      prefix,
      (keys, args) => this.runHolds(keys, args),
      () => this.ownClock?.now() ?? "",
      () => this.isClosed,
    );
    this.outbox = new Outbox(maxBatch, this.nodes(), (requests, node) => this.send(requests, node));
    this.connecting = firstConnection(this.client).then(() => {
      this.connecting = undefined;
    });
    warnOfServer(this.client, this.isOurs ? [] : unsafeSettings(this.client));
  }

  apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    if (operations.length > 1 && isCluster(this.client)) requireOneKey(operations);
    return new Promise((resolve, reject) => {
      this.outbox.add(this.planner.request(action, operations, this.byLocalTime(options), resolve, reject));
    });
  }

  /** Connects, loads the scripts and learns the server's time, so that the first checks need not. */
  async ready(): Promise<void> {
    const { client } = this;
    await this.connecting;
    const servers = isCluster(client) ? client.nodes("master") : [client];
    try {
      if (servers.length === 0) throw new StoreError("HG_STORE_UNREACHABLE", "no node of the cluster can be reached");
      await Promise.all(servers.map((server) => this.prepare(server)));
    } catch (error) {
      throw storeError(error, troubleOf(client));
    }
  }

  private async prepare(server: RedisClient): Promise<void> {
    const sent = localTime();
    const reply = new Reply(await run(server, planOf([], NO_TIMES, true), [], 0));
    this.clockOf(nodeOf(server, this.client)).learn(reply.number(), sent, localTime());
    // Whoever may not load a script gets it with the first call.
    await server.call("script", "LOAD", SHORT.text).catch(() => {});
  }

  /** Sends what waits, and closes the connections that were made here. */
  async close(): Promise<void> {
    this.outbox.flush();
    this.bulletin.close();
    if (!this.isOurs) return;
    this.isClosed = true;
    await this.client.quit().catch(() => {});
    this.client.disconnect();
  }

  /** Where a request goes: in a cluster to the node of its slot, as far as the client knows. */
  private nodes(): (request: Request) => string {
    const { client } = this;
    if (!isCluster(client)) return () => ONLY_NODE;
    return ({ keys: [key] }) => {
      const slot = slotOf(key);
      return client.slots[slot]?.[0] ?? String(slot);
    };
  }

  private clockOf(node: string): ServerClock {
    const known = this.serverClocks.get(node);
    if (known !== undefined) return known;
    const clock = new ServerClock();
    this.serverClocks.set(node, clock);
    return clock;
  }

  /** What the store's clock says of a request, in local time: the nodes of a cluster each have another. */
  private byLocalTime(options: ApplyOptions | undefined): ApplyOptions | undefined {
    if (options?.voidFrom === undefined || this.ownClock !== undefined) return options;
    const due = localTime() + options.voidFrom - this.clock.now();
    // In whole milliseconds, so that requests that travel together say the same.
    return { ...options, voidFrom: Math.max(1, Math.ceil(due / 1_000) * 1_000) };
  }

  /** From when on a call is void. Before a node's first reply its time is not known, and nothing can be said. */
  private times(clock: ServerClock, due: number): Times {
    if (this.ownClock !== undefined) return { now: this.ownClock.now(), voidFrom: 0, ahead: 0 };
    if (!clock.isKnown) return NO_TIMES;
    const ahead = clock.mostAhead;
    return { now: "", voidFrom: Math.ceil(due) + ahead, ahead };
  }

  /** `due`: a request that is sent again has no more time than at first. `hasMoved`: its node is not known any more. */
  private async send(
    requests: readonly Request[],
    node: string,
    due = localTime() + this.timeoutMs * 1_000,
    hasMoved = false,
  ): Promise<void> {
    const call = new Call(requests, due, this.timeoutMs);
    const times = this.times(this.clockOf(node), due);
    this.deadlines.add(call);
    try {
      if (this.connecting !== undefined) {
        await this.connecting;
        // Whoever waited so long for the connection has gone on: what was not sent yet is not sent any more.
        if (localTime() >= due || requests.some((request) => this.isVoid(request))) throw tooLate();
      }
      await this.ask(requests, times, node, due, hasMoved);
    } catch (error) {
      this.fail(requests, error, node, due, hasMoved);
    }
    this.deadlines.delete(call);
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
    const { server, declared } = this.route(keys, requests.length, hasMoved);
    const sent = localTime();
    const reply = new Reply(await run(server, planOf(requests, times, declared > 0), keys, declared));
    const time = reply.number();
    // A cluster's client may have followed a redirection: then it is the time of another node.
    if (server !== this.client || !isCluster(this.client)) this.clockOf(node).learn(time, sent, localTime());
    this.settle(requests, reply, node, due);
  }

  /**
   * Whom to call, and how many keys to declare. In a cluster requests go to their node directly, so that its time is
   * known; a batch declares no keys, for to follow a redirection would be right for the key that it is about, and
   * wrong for the others. What has moved comes back, and is sent alone by the client, which follows it.
   */
  private route(
    keys: readonly string[],
    requests: number,
    hasMoved: boolean,
  ): { server: RedisClient; declared: number } {
    const { client } = this;
    const direct = isCluster(client) && !hasMoved ? connectionTo(client, slotOf(keys[0])) : undefined;
    if (direct === undefined) return { server: client, declared: isCluster(client) && requests > 1 ? 0 : keys.length };
    return { server: direct, declared: requests === 1 ? keys.length : 0 };
  }

  /** The journal has as much time as a call. */
  private runHolds(keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const expire = (): void => reject(unanswered(this.timeoutMs));
      const call: Timed = { due: localTime() + this.timeoutMs * 1_000, before: undefined, after: undefined, expire };
      this.deadlines.add(call);
      const asked = (): Promise<unknown> => run(this.client, { script: HOLDS, args }, keys, keys.length);
      (this.connecting === undefined ? asked() : this.connecting.then(asked))
        .then(resolve, (error: unknown) => reject(this.failureOf(error)))
        .finally(() => this.deadlines.delete(call));
    });
  }

  private settle(requests: readonly Request[], reply: Reply, node: string, due: number): void {
    for (const request of requests) {
      const answers = reply.next(request);
      if (!(answers instanceof Error)) request.resolve(answers);
      else if (requests.length > 1 && isElsewhere(answers)) this.sendAgain(request, node, due);
      else request.reject(answers);
    }
  }

  private fail(requests: readonly Request[], error: unknown, node: string, due: number, hasMoved: boolean): void {
    if (!hasMoved && isCluster(this.client) && (isRedirection(error) || (requests.length > 1 && isElsewhere(error)))) {
      for (const request of requests) this.sendAgain(request, node, due);
      return;
    }
    const failure = this.failureOf(error);
    for (const { reject } of requests) reject(failure);
  }

  private failureOf(error: unknown): StoreError {
    return this.isClosed ? closed() : storeError(error, troubleOf(this.client));
  }

  private sendAgain(request: Request, node: string, due: number): void {
    if (localTime() < due) void this.send([request], node, due, true);
    else request.reject(tooLate());
  }
}

function tooLate(): StoreError {
  return new StoreError("HG_STORE_TIMEOUT", "Redis could not be asked in time, and charged nothing");
}

function unanswered(timeoutMs: number): StoreError {
  return new StoreError("HG_STORE_TIMEOUT", `Redis did not answer within ${timeoutMs} ms`, { scope: "call" });
}

function closed(): StoreError {
  return new StoreError("HG_STORE_UNREACHABLE", "this store was closed: make a new one");
}

/** What a server is called here: as the client's map of slots has it. */
function nodeOf(server: RedisClient, client: RedisClient): string {
  if (!isCluster(client) || isCluster(server)) return ONLY_NODE;
  return `${server.options.host}:${server.options.port}`;
}

/** A batch under way. */
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

/** Calls a script; a server that does not have it, or has it no more, gets it with the call. */
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

function requirePrefix(prefix: unknown): asserts prefix is string {
  if (typeof prefix !== "string" || /[{}]/.test(prefix)) {
    throw new HeadgateError("HG_BAD_OPTION", "prefix", `must be a string without braces, got ${shown(prefix)}`);
  }
}

function requireWhole(value: unknown, field: string, most: number): asserts value is number {
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 1 || value > most) {
    throw new HeadgateError("HG_BAD_OPTION", field, `must be a whole number from 1 to ${most}, got ${shown(value)}`);
  }
}

/** ioredis puts it before the keys that are declared only. */
function requireNoKeyPrefix(keyPrefix: string | undefined): void {
  if (keyPrefix !== undefined && keyPrefix !== "") {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "server",
      "must not have a keyPrefix on a cluster: use the store's own prefix option",
    );
  }
}

/** One script call sees the keys of one slot, and all limits of one identity are there. */
function requireOneKey(operations: readonly Operation[]): void {
  const other = operations.findIndex(({ key }) => key !== operations[0].key);
  if (other < 0) return;
  throw new HeadgateError(
    "HG_KEYS_APART",
    `checks[${other}].key`,
    `must be ${shown(operations[0].key)} as in checks[0]: a Redis Cluster keeps different keys on different servers, so no request can be charged to both or to none`,
  );
}
