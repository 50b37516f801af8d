import {
  type Random,
  SimulatedNotifications,
  type SimulatedProcess,
  type VirtualTime,
} from "headgate-simulator/virtual-time";
import type { Clock } from "../../../../src/clock/clock.ts";
import { StoreError } from "../../../../src/errors.ts";
import { MemoryStore } from "../../../../src/stores/memory/memory-store.ts";
import type { Action, Answer, ApplyOptions, Operation, Store } from "../../../../src/stores/store.ts";

/** What may go wrong on the way: how likely, or how long in microseconds. */
export interface Faults {
  readonly loseRequest: number;
  readonly loseReply: number;
  readonly duplicate: number;
  readonly slow: number;
  readonly loseNews: number;
}

/** When the server did what an answer says. */
export type Timed = Answer & { readonly executedAt?: number };

const TIMEOUT = 1_000_000;

/** One real store in the middle, and ways to it that delay, lose and repeat. */
export class Network {
  readonly server: MemoryStore;
  /** Units of grants that the server has given, each counted once. */
  given = 0;
  /** The server is frozen until then. */
  frozenUntil = 0;
  private readonly time: VirtualTime;
  private readonly random: Random;
  private readonly faults: Faults;
  private readonly executed = new WeakMap<Answer, number>();
  private readonly notifications: SimulatedNotifications;

  constructor(time: VirtualTime, random: Random, faults: Faults) {
    this.time = time;
    this.random = random;
    this.faults = faults;
    this.notifications = new SimulatedNotifications((arrive) => {
      if (!random.chance(faults.loseNews)) time.after(this.delay(), arrive);
    });
    this.server = new MemoryStore({ clock: { now: () => time.now, sleep: () => Promise.reject(new Error("unused")) } });
  }

  delay(): number {
    return this.random.chance(this.faults.slow) ? this.random.whole(20_000, 1_500_000) : this.random.whole(100, 4_000);
  }

  /** The store as a node sees it. */
  link(node: SimulatedProcess): Store {
    // It knows the server's time to a few milliseconds, and never believes it earlier than it is.
    const error = this.random.whole(0, 4_000);
    const clock: Clock = { now: () => this.time.now + error, sleep: (ms) => node.clock.sleep(ms) };
    return {
      clock,
      notifications: this.notifications.of(node),
      apply: (action, operations, options = {}) => this.call(node, action, operations, options, clock.now() + TIMEOUT),
    };
  }

  private call(
    node: SimulatedProcess,
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions,
    voidFrom: number,
  ): Promise<readonly Answer[]> {
    const { time, random, faults } = this;
    const asked = { ...options, voidFrom: Math.min(voidFrom, options.voidFrom ?? voidFrom) };
    return new Promise((resolve, reject) => {
      node.after(TIMEOUT, () => reject(new StoreError("HG_STORE_TIMEOUT", "did not answer")));
      const execute = (): void => {
        if (time.now < this.frozenUntil) {
          time.at(this.frozenUntil, execute);
          return;
        }
        const settle = this.execute(action, operations, asked, resolve, reject);
        if (!random.chance(faults.loseReply)) time.after(this.delay(), () => node.run(settle));
      };
      if (!random.chance(faults.loseRequest)) time.after(this.delay(), execute);
      if (random.chance(faults.duplicate)) time.after(this.delay(), execute);
    });
  }

  private execute(
    action: Action,
    operations: readonly Operation[],
    options: ApplyOptions,
    resolve: (answers: readonly Timed[]) => void,
    reject: (reason: unknown) => void,
  ): () => void {
    try {
      const answers = this.server.apply(action, operations, options).map((answer) => {
        const isGrant = action === "take" && options.idempotencyKey !== undefined && answer.allowed;
        if (isGrant && !this.executed.has(answer)) this.given += operations[0].cost;
        return this.timed(answer);
      });
      return () => resolve(answers);
    } catch (error) {
      return () => reject(error);
    }
  }

  /** What is answered a second time was done at the first. */
  private timed(answer: Answer): Timed {
    const executedAt = this.executed.get(answer) ?? this.time.now;
    this.executed.set(answer, executedAt);
    return { ...answer, executedAt };
  }
}
