import type { Redis } from "ioredis";
import { StoreError } from "../../../src/errors.ts";
import type { Limit } from "../../../src/limits/limit.ts";
import type { RedisArgument } from "../../../src/redis.ts";
import type { Operation } from "../../../src/stores/store.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { type Split, type SplitOptions, split } from "../../../src/wrappers/split/split.ts";

export const BEAT = 100;
export const LEASE = 400;

/** What happens to the next beat of a replica on its way. */
export type Fault = "request lost" | "reply lost" | "request held" | "reply held";

type Run = () => Promise<unknown>;

/** The way of one replica to the server. Beats run on the real one, at the time of the world. */
class Link {
  readonly faults: Fault[] = [];
  readonly held: (() => void)[] = [];
  private readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  send([name, ...args]: readonly RedisArgument[]): Promise<unknown> {
    const time = name === "EVAL" ? [this.world.serverMs] : [];
    return this.deliver(() => this.world.redis.call(String(name), ...args, ...time));
  }

  private deliver(run: Run): Promise<unknown> {
    const fault = this.faults.shift();
    if (fault === "request held") return this.hold().then(() => this.world.track(run()));
    if (fault === "request lost") return Promise.reject(new Error("Connection is closed."));
    const reply = this.world.track(run());
    if (fault === "reply held") return reply.then((value) => this.hold().then(() => value));
    return fault === "reply lost" ? reply.then(() => Promise.reject(new Error("Connection is closed."))) : reply;
  }

  private hold(): Promise<void> {
    return new Promise((resolve) => this.held.push(resolve));
  }
}

interface Replica {
  readonly store: Split;
  readonly clock: ManualClock;
  readonly link: Link;
  /** How fast its clock runs. */
  readonly speed: number;
  /** Its own time, in milliseconds. */
  ms: number;
  paused: boolean;
}

/** Replicas whose clocks, and whose server's clock, move as the test says; the server itself is a real one. */
export class World {
  readonly redis: Redis;
  readonly replicas: Replica[] = [];
  /** The server's time. */
  serverMs = 1_700_000_000_000;
  private readonly options: SplitOptions;
  private readonly underWay = new Set<Promise<unknown>>();
  /** Runs after each step. */
  private readonly watch: () => void;

  constructor(redis: Redis, group: string, watch: (world: World) => void = () => {}) {
    this.redis = redis;
    this.options = { group, beatMs: BEAT, leaseMs: LEASE };
    this.watch = () => watch(this);
  }

  async join(speed = 1, options: Partial<SplitOptions> = {}): Promise<Replica> {
    const link = new Link(this);
    const ms = 1_700_000_000_000;
    const clock = new ManualClock(ms);
    const store = split(link, { ...this.options, ...options, clock });
    const replica = { store, clock, link, speed, ms, paused: false };
    this.replicas.push(replica);
    await this.settled();
    return replica;
  }

  async leave(replica: Replica): Promise<void> {
    this.crash(replica);
    void replica.store.close();
    await this.settled();
  }

  /** It disappears without a message. */
  crash(replica: Replica): void {
    this.replicas.splice(this.replicas.indexOf(replica), 1);
  }

  async resume(replica: Replica): Promise<void> {
    replica.paused = false;
    // What it would enforce before its first timer fires counts, too.
    this.watch();
    await replica.clock.advance(0);
    await this.settled();
  }

  async release(replica: Replica, index = 0): Promise<void> {
    const [release] = replica.link.held.splice(index % Math.max(1, replica.link.held.length), 1);
    release?.();
    await this.settled();
  }

  /** Advances the time of all, in steps shorter than a beat. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= BEAT / 4) {
      const step = Math.min(left, BEAT / 4);
      this.serverMs += step;
      for (const replica of [...this.replicas]) {
        replica.ms += step * replica.speed;
        if (replica.paused) replica.clock.set(replica.ms);
        else await replica.clock.advance(replica.ms - replica.clock.now() / 1000);
        await this.settled();
      }
    }
  }

  track(reply: Promise<unknown>): Promise<unknown> {
    this.underWay.add(reply);
    const done = (): boolean => this.underWay.delete(reply);
    reply.then(done, done);
    return reply;
  }

  private async settled(): Promise<void> {
    do {
      await Promise.allSettled(this.underWay);
      await new Promise((resolve) => setImmediate(resolve));
    } while (this.underWay.size > 0);
    this.watch();
  }
}

/** What a replica enforces of each limit, by what it lets pass: nothing where it fails. */
export function enforced({ store }: { readonly store: Split }, limits: readonly Limit[]): number[] {
  try {
    return store.apply("peek", limits.map(fresh)).map(({ remaining }) => remaining);
  } catch (error) {
    if (error instanceof StoreError) return limits.map(() => 0);
    throw error;
  }
}

/** Of a key that is unused. */
function fresh(limit: Limit, i: number): Operation {
  return { rule: { name: `rule ${i}`, limit }, key: "fresh", cost: 1 };
}

export function sums(replicas: readonly { readonly store: Split }[], limits: readonly Limit[]): number[] {
  const shares = replicas.map((replica) => enforced(replica, limits));
  return limits.map((_, i) => shares.reduce((sum, share) => sum + share[i], 0));
}
