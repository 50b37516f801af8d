import type { Answer, Clock, Operation, Store } from "headgate";
import type { RedisClient } from "headgate/redis";
import type { Random } from "../traffic/random.ts";
import type { ClusterModel } from "./cluster-model.ts";
import { SimulatedCalls } from "./simulated-calls.ts";
import type { SimulatedNode } from "./simulated-node.ts";
import { SimulatedNotifications } from "./simulated-notifications.ts";
import { SimulatedShard } from "./simulated-shard.ts";
import type { VirtualTime } from "./virtual-time.ts";

const SLOW_SHARE = 0.01;

/** Ways between nodes and shards, on which messages take time and are lost. */
export class SimulatedNetwork {
  readonly shards: readonly SimulatedShard[];
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #model: ClusterModel;
  readonly #calls: SimulatedCalls;
  readonly #notifications = new SimulatedNotifications((arrive) => {
    if (!this.#random.chance(this.#model.loss)) this.#time.after(this.#delay(), arrive);
  });

  constructor(time: VirtualTime, random: Random, model: ClusterModel) {
    this.#time = time;
    this.#random = random;
    this.#model = model;
    const faults = { loseRequest: model.loss, loseReply: model.loss, duplicate: 0, delay: () => this.#delay() };
    this.#calls = new SimulatedCalls(time, random, () => faults, model.timeoutMs * 1000);
    this.shards = Array.from({ length: model.shards }, () => new SimulatedShard(time, model.callUs));
  }

  /** The store as a node sees it. */
  link(node: SimulatedNode): Store {
    const clock: Clock = { now: () => this.#time.now, sleep: (ms, signal) => node.clock.sleep(ms, signal) };
    return {
      clock,
      notifications: this.#notifications.of(node),
      apply: async (action, operations, options = {}) => {
        const answers: Answer[] = [];
        const voidFrom = this.#time.now + this.#model.timeoutMs * 1000;
        const asked = { ...options, voidFrom: Math.min(voidFrom, options.voidFrom ?? voidFrom) };
        // Operations on several keys are independent of each other here: the simulation has one rule.
        const calls = [...bySingleShard(operations, this.shards.length)].map(async ([number, places]) => {
          const shard = this.shards[number];
          const those = places.map((place) => operations[place]);
          const enter = (): number => shard.enter();
          const told = await this.#call(node, enter, () => shard.apply(action, those, asked));
          for (const [i, place] of places.entries()) answers[place] = told[i];
        });
        await Promise.all(calls);
        return answers;
      },
    };
  }

  /** Redis as the wrapper `split` of a node sees it. */
  client(node: SimulatedNode): RedisClient {
    return {
      send: (command, key = "") => {
        const shard = this.shards[shardOf(key, this.shards.length)];
        const enter = (): number => shard.enter(key);
        return this.#call(node, enter, () => shard.execute(command));
      },
    };
  }

  /** Asks a shard: `enter` returns when it will have done the work that arrives now. */
  #call<Reply>(node: SimulatedNode, enter: () => number, work: () => Reply): Promise<Reply> {
    node.roundTrips += 1;
    return this.#calls.call(node, (reply, resolve, reject) => {
      this.#time.at(enter(), () => {
        reply(settling(work, resolve, reject));
        this.#time.settled();
      });
    });
  }

  #delay(): number {
    const { leastDelayMs, mostDelayMs, slowDelayMs } = this.#model;
    const usual = leastDelayMs + this.#random.next() * (mostDelayMs - leastDelayMs);
    const more = this.#random.chance(SLOW_SHARE) ? this.#random.next() * slowDelayMs : 0;
    return Math.round((usual + more) * 1000);
  }
}

function settling<Reply>(
  work: () => Reply,
  resolve: (reply: Reply) => void,
  reject: (reason: unknown) => void,
): () => void {
  try {
    const reply = work();
    return () => resolve(reply);
  } catch (error) {
    return () => reject(error);
  }
}

/** The places of operations in their list, by the shard of their key. */
function bySingleShard(operations: readonly Operation[], shards: number): ReadonlyMap<number, number[]> {
  const places = new Map<number, number[]>();
  for (const [place, { key }] of operations.entries()) {
    const shard = shardOf(key, shards);
    const others = places.get(shard);
    if (others === undefined) places.set(shard, [place]);
    else others.push(place);
  }
  return places;
}

/** The shard of a key, as a cluster assigns it: evenly, whatever the keys look like. */
function shardOf(key: string, shards: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i += 1) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) % shards;
}
