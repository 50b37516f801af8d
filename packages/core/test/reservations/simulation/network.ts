import { type Random, SimulatedCalls, type VirtualTime } from "headgate-simulator/virtual-time";
import {
  type Action,
  type Answer,
  type ApplyOptions,
  type Clock,
  MemoryStore,
  type Operation,
  type Store,
  StoreError,
} from "../../../src/index.ts";
import type { ReservationJournal } from "../../../src/reservations/journal.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { Journal } from "../fake-journal.ts";
import type { ReservingProcess } from "./reserving-process.ts";

/** How likely messages are lost, repeated or slow. */
export interface Faults {
  readonly loseRequest: number;
  readonly loseReply: number;
  readonly duplicate: number;
  readonly slow: number;
}

const TIMEOUT = 1_000_000;

/** One real store in the middle, and ways to it that delay, lose and repeat. */
export class ReservationNetwork {
  private readonly server: MemoryStore;
  readonly journal: Journal;
  /** Keys whose quota was taken although the journal could not be written. A crash may leave it taken. */
  readonly unjournalled = new Set<string>();
  private readonly journalled = new Set<string>();
  /** Reservations that have ended, as the store remembers them. */
  private readonly settled = new Set<string>();
  private readonly serverClock = new ManualClock();
  private readonly time: VirtualTime;
  private readonly random: Random;
  private faults: Faults;
  private readonly calls: SimulatedCalls;
  /** Until then, the journal cannot be reached: in a cluster, it is on other servers. */
  private journalDownUntil = 0;
  /** Whether requests are recorded in the journal in the same step, as by a single Redis. */
  private readonly isAtomic: boolean;

  constructor(time: VirtualTime, random: Random, faults: Faults) {
    this.time = time;
    this.random = random;
    this.faults = faults;
    this.calls = new SimulatedCalls(time, random, () => ({ ...this.faults, delay: () => this.delay() }), TIMEOUT);
    this.isAtomic = random.chance(0.5);
    this.server = new MemoryStore({ clock: this.serverClock, maxIdempotencyKeys: 1_000_000 });
    this.journal = new Journal(this.serverClock);
  }

  /** Microseconds during which the journal cannot be reached. */
  cutJournal(span: number): void {
    this.journalDownUntil = this.time.now + span;
  }

  heal(): void {
    this.journalDownUntil = 0;
    this.faults = { loseRequest: 0, loseReply: 0, duplicate: 0, slow: 0 };
  }

  /** What the store would answer now. */
  peek(operation: Operation): readonly Answer[] {
    this.serverClock.set(this.time.now / 1000);
    return this.server.apply("peek", [operation]);
  }

  /** The store as a process sees it: it knows the server's time to a few milliseconds. */
  link(process: ReservingProcess): Store {
    const error = this.random.whole(-4_000, 4_000);
    const clock: Clock = { now: () => this.time.now + error, sleep: (ms) => process.clock.sleep(ms) };
    const { journal } = this;
    const call = <Value>(task: () => Value | Promise<Value>) =>
      this.call(process, task, () => this.time.now >= this.journalDownUntil);
    const remote: ReservationJournal = {
      isClosed: false,
      isOrdered: false,
      isAtomic: this.isAtomic,
      add: (entry, forMs) =>
        call(() => {
          this.journalled.add(entry.id);
          return journal.add(entry, forMs);
        }),
      restore: (entry, forMs) => call(() => journal.restore(entry, forMs)),
      extend: (...args) => call(() => journal.extend(...args)),
      end: (entries) => call(() => journal.end(entries)),
      find: (...args) => call(() => journal.find(...args)),
      claimOverdue: (...args) => call(() => journal.claimOverdue(...args)),
      list: (...args) => call(() => journal.list(...args)),
    };
    return {
      clock,
      journal: remote,
      apply: (action, operations, options = {}) => {
        const due = clock.now() + TIMEOUT + 4_000;
        const voidFrom = Math.min(due, options.voidFrom ?? due);
        return this.call(process, () => {
          const answers = this.execute(action, operations, { ...options, voidFrom });
          if (action === "take" && !this.journalled.has(options.idempotencyKey ?? "")) {
            for (const { key } of operations) this.unjournalled.add(key);
          }
          return answers;
        });
      },
    };
  }

  private execute(action: Action, operations: readonly Operation[], options: ApplyOptions): readonly Answer[] {
    const { journal, server } = this;
    const { entry, ...rest } = options;
    if (entry?.step === "add") {
      if (journal.has(entry.id) || this.settled.has(entry.id)) throw new StoreError("HG_STORE_TIMEOUT", "is repeated");
      const { idempotencyKey: _, ...once } = rest;
      const answers = server.apply(action, operations, once);
      if (!answers.every(({ allowed }) => allowed)) return answers;
      this.journalled.add(entry.id);
      journal.write(entry, entry.forMs);
      return answers;
    }
    const answers = server.apply(action, operations, rest);
    if (entry?.step === "end") {
      journal.remove(entry.id);
      this.settled.add(entry.id);
    }
    return answers;
  }

  private call<Value>(
    process: ReservingProcess,
    task: () => Value | Promise<Value>,
    isUp = () => true,
  ): Promise<Value> {
    return this.calls.call<Value>(process, (reply, resolve, reject) => {
      if (!isUp()) return;
      this.serverClock.set(this.time.now / 1000);
      Promise.resolve()
        .then(task)
        .then(
          (value) => reply(() => resolve(value)),
          (error: unknown) => reply(() => reject(error)),
        );
    });
  }

  private delay(): number {
    return this.random.chance(this.faults.slow) ? this.random.whole(20_000, 3_000_000) : this.random.whole(100, 4_000);
  }
}
