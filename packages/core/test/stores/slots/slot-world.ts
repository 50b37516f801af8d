import { Random, VirtualTime } from "headgate-simulator/virtual-time";
import { type Action, type Answer, concurrency, MemoryStore, type Operation, type Rule } from "../../../src/index.ts";
import { ConcurrencyModel } from "../../algorithms/models/concurrency.ts";

const START = 1_700_000_000_000_000;
const SECOND = 1_000_000;
const LENGTH = 300 * SECOND;
const KEY = "k";

interface Faults {
  readonly loseRequest: number;
  readonly loseReply: number;
  readonly duplicate: number;
  /** A message takes up to `latest` microseconds instead of some milliseconds. */
  readonly slow: number;
  readonly latest: number;
  /** How often, in a second, a process is frozen or killed, and the server loses everything. */
  readonly freeze: number;
  readonly kill: number;
  readonly forget: number;
}

/** A task that needs a slot, as the process sees it that runs it. */
interface Task {
  readonly id: string;
  readonly cost: number;
  readonly process: Process;
  /** Until when the process may run it, by its own clock; −Infinity before it has the slot and after it has ended. */
  deadline: number;
}

/** A process with a clock of its own, which can be frozen and can die. */
interface Process {
  readonly offset: number;
  frozenUntil: number;
  isDead: boolean;
  tasks: Task[];
}

/**
 * Processes that run tasks in slots of one key: they extend the leases of their tasks, stop a task whose lease they
 * could not extend in time, and release its slot. Messages are lost, repeated and late. Everything that the store says
 * is compared with the model.
 */
export class SlotWorld {
  readonly limit: number;
  /** How long a lease lasts. */
  readonly forUs: number;
  started = 0;
  denied = 0;
  lost = 0;
  refusedLate = 0;
  private readonly random: Random;
  private readonly faults: Faults;
  private readonly time = new VirtualTime(START);
  private readonly store: MemoryStore;
  private model = new ConcurrencyModel();
  private readonly rule: Rule;
  private readonly processes: Process[];
  /** When the slots of a reservation were released in the store. */
  private readonly releasedAt = new Map<string, number>();
  /** Until then, tasks whose slots the store has forgotten may still run. */
  private forgottenUntil = 0;
  private tasks = 0;

  constructor(seed: number) {
    const random = new Random(seed);
    this.random = random;
    this.limit = random.whole(1, 5);
    this.forUs = random.of([20, 30, 60]) * SECOND;
    this.rule = { name: "tasks", limit: concurrency(this.limit) };
    this.faults = {
      loseRequest: random.of([0, 0.05, 0.3]),
      loseReply: random.of([0, 0.05, 0.3]),
      duplicate: random.of([0, 0.1, 0.5]),
      slow: random.of([0, 0.05, 0.3]),
      // A tombstone outlives every message that was sent before it was left.
      latest: 15 * SECOND,
      freeze: random.of([0, 0.02]),
      kill: random.of([0, 0.01]),
      forget: random.of([0, 0, 0.005]),
    };
    this.store = new MemoryStore({
      clock: { now: () => this.time.now, sleep: () => Promise.reject(new Error("unused")) },
    });
    this.processes = Array.from({ length: random.whole(2, 5) }, () => this.newProcess());
  }

  async run(): Promise<void> {
    this.everySecond();
    await this.time.runUntil(START + LENGTH, () => this.check());
    for (const process of this.processes) process.isDead = true;
    // Whatever happened, all slots are back when the last message has arrived and its lease has ended.
    await this.time.runUntil(START + LENGTH + this.faults.latest + this.forUs, () => this.check());
    const [{ inUse, remaining, allowed }] = this.store.apply("peek", [this.operation("none", this.limit)]);
    if (inUse !== 0 || remaining !== this.limit || !allowed) throw new Error(`${inUse} slots leaked`);
  }

  private newProcess(): Process {
    return { offset: this.random.whole(-60 * SECOND, 60 * SECOND), frozenUntil: 0, isDead: false, tasks: [] };
  }

  private everySecond(): void {
    const { random, faults, time } = this;
    if (time.now >= START + LENGTH) return;
    for (const [i, process] of this.processes.entries()) {
      if (random.chance(faults.freeze)) process.frozenUntil = time.now + random.whole(1, 90) * SECOND;
      if (random.chance(faults.kill)) {
        process.isDead = true;
        this.processes[i] = this.newProcess();
      }
      if (random.chance(0.3)) this.begin(this.processes[i]);
    }
    if (random.chance(faults.forget)) this.forget();
    time.after(SECOND, () => this.everySecond());
  }

  /** As after a failover to a replica that has received nothing. */
  private forget(): void {
    this.store.resetAll();
    this.model = new ConcurrencyModel();
    this.releasedAt.clear();
    this.forgottenUntil = this.time.now + this.forUs + this.faults.latest;
  }

  private begin(process: Process): void {
    this.tasks += 1;
    const cost = this.random.chance(0.2) ? this.random.whole(1, this.limit) : 1;
    const task: Task = { id: `t${this.tasks}`, cost, process, deadline: Number.NEGATIVE_INFINITY };
    let isAnswered = false;
    const sentAt = this.clockOf(process);
    this.send("take", task, ({ allowed }) => {
      if (isAnswered) return;
      isAnswered = true;
      if (!allowed) {
        this.denied += 1;
        return;
      }
      if (!this.grant(task, sentAt)) return;
      this.started += 1;
      process.tasks.push(task);
      this.wait(process, this.forUs / 3, () => this.renew(task));
      this.wait(process, this.random.whole(1, 120) * SECOND, () => this.end(task));
    });
  }

  /** The slot is the task's for as long after the request was sent as the lease lasts. */
  private grant(task: Task, sentAt: number): boolean {
    task.deadline = Math.max(task.deadline, sentAt + this.forUs);
    if (task.deadline > this.clockOf(task.process)) return true;
    this.end(task);
    return false;
  }

  private renew(task: Task): void {
    if (!this.goesOn(task)) return;
    const sentAt = this.clockOf(task.process);
    this.send("extend", task, ({ allowed }) => {
      if (!this.goesOn(task)) return;
      if (allowed) this.grant(task, sentAt);
      else {
        this.lost += 1;
        this.end(task);
      }
    });
    this.wait(task.process, this.forUs / 3, () => this.renew(task));
  }

  /** Whether a task still has its slot. A process that was frozen asks before it goes on. */
  private goesOn(task: Task): boolean {
    if (task.deadline === Number.NEGATIVE_INFINITY) return false;
    if (task.deadline > this.clockOf(task.process)) return true;
    this.lost += 1;
    this.end(task);
    return false;
  }

  private end(task: Task): void {
    task.deadline = Number.NEGATIVE_INFINITY;
    task.process.tasks = task.process.tasks.filter((other) => other !== task);
    this.send("release", task, () => {});
  }

  private send(action: Action, task: Task, answered: (answer: Answer) => void): void {
    const { random, faults, time } = this;
    const execute = (): void => {
      const answer = this.execute(action, task);
      if (!random.chance(faults.loseReply))
        time.after(this.delay(), () => this.resume(task.process, () => answered(answer)));
    };
    if (!random.chance(faults.loseRequest)) time.after(this.delay(), execute);
    while (random.chance(faults.duplicate)) time.after(this.delay(), execute);
  }

  private execute(action: Action, { id, cost }: Task): Answer {
    const { now } = this.time;
    const [answer] = this.store.apply(action, [this.operation(id, cost)]);
    const { allowed, inUse = Number.NaN, remaining, retryAfter, resetAfter } = answer;
    const expected =
      action === "release"
        ? this.model.release(this.limit, now, id, this.forUs)
        : this.model[action === "take" ? "take" : "extend"](this.limit, now, id, cost, this.forUs);
    const got = JSON.stringify({ allowed, inUse, remaining, retryAfter, resetAfter });
    if (got !== JSON.stringify(expected))
      throw new Error(`${action} ${id}: ${got} instead of ${JSON.stringify(expected)}`);
    if (action === "release") this.releasedAt.set(id, now);
    else if (this.releasedAt.has(id)) {
      this.refusedLate += 1;
      if (allowed) throw new Error(`a late ${action} has taken the slot of ${id} again`);
    }
    return answer;
  }

  private operation(id: string, cost: number): Operation {
    return { rule: this.rule, key: KEY, cost, slot: { id, forUs: this.forUs } };
  }

  private delay(): number {
    const { random, faults } = this;
    return random.chance(faults.slow) ? random.whole(SECOND, faults.latest) : random.whole(100, 4_000);
  }

  private clockOf({ offset }: Process): number {
    return this.time.now + offset;
  }

  private wait(process: Process, span: number, act: () => void): void {
    this.time.after(span, () => this.resume(process, act));
  }

  /** What happens to a process while it is frozen happens when it goes on; to the dead nothing does. */
  private resume(process: Process, act: () => void): void {
    if (process.isDead) return;
    if (this.time.now < process.frozenUntil) this.time.at(process.frozenUntil, () => this.resume(process, act));
    else act();
  }

  private check(): void {
    const [{ inUse = Number.NaN }] = this.store.apply("peek", [this.operation("none", 0)]);
    if (inUse > this.limit) throw new Error(`${inUse} slots of ${this.limit} are in use`);
    if (this.time.now < this.forgottenUntil) return;
    let running = 0;
    for (const process of this.processes) {
      if (this.time.now < process.frozenUntil) continue;
      for (const { deadline, cost } of process.tasks) if (deadline > this.clockOf(process)) running += cost;
    }
    if (running > this.limit) throw new Error(`${running} tasks run in ${this.limit} slots`);
  }
}
