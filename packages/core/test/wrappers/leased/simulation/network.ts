import {
  type Random,
  SimulatedCalls,
  SimulatedNotifications,
  type SimulatedProcess,
  type VirtualTime,
} from "headgate-simulator/virtual-time";
import type { Clock } from "../../../../src/clock/clock.ts";
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
  private readonly calls: SimulatedCalls;
  private readonly notifications: SimulatedNotifications;

  constructor(time: VirtualTime, random: Random, faults: Faults) {
    this.time = time;
    this.random = random;
    this.faults = faults;
    const messages = { ...faults, delay: () => this.delay() };
    this.calls = new SimulatedCalls(time, random, () => messages, TIMEOUT);
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
    const asked = { ...options, voidFrom: Math.min(voidFrom, options.voidFrom ?? voidFrom) };
    return this.calls.call<readonly Answer[]>(node, (reply, resolve, reject) => {
      const execute = (): void => {
        if (this.time.now < this.frozenUntil) this.time.at(this.frozenUntil, execute);
        else reply(this.execute(action, operations, asked, resolve, reject));
      };
      execute();
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
