import { Random, VirtualTime } from "headgate-simulator/virtual-time";
import {
  concurrency,
  fixedWindow,
  HeadgateError,
  type Operation,
  type Reservation,
  type Rule,
} from "../../../src/index.ts";
import { ReservationNetwork } from "./network.ts";
import { ReservingProcess } from "./reserving-process.ts";

/** Noon, so that no window ends. */
const START = 1_700_049_600_000_000;
const SECOND = 1_000_000;
const limits = [fixedWindow("1000000/d"), fixedWindow("1000000/w")];

/** What may be charged for a reservation in the end under its rates: its final costs, or any of several. */
interface Expected {
  readonly operations: readonly Operation[];
  possible: (readonly number[])[];
  /** The slots that it holds besides, if any. */
  readonly slots: Operation | undefined;
}

/** A task that runs in slots. */
interface Task {
  readonly process: ReservingProcess;
  readonly slots: Operation;
  readonly signal: AbortSignal;
}

/** Runs a seed. Throws, with the seed, if anything but what was settled, spent or released is charged. */
export async function simulate(seed: number): Promise<World> {
  const world = new World(seed);
  await world.run();
  return world;
}

export class World {
  settled = 0;
  lost = 0;
  failed = 0;
  released = 0;
  denied = 0;
  aborted = 0;
  private readonly seed: number;
  private readonly random: Random;
  private readonly time = new VirtualTime(START);
  private readonly network: ReservationNetwork;
  private readonly processes: ReservingProcess[] = [];
  private readonly all: Expected[] = [];
  /** Shared by many reservations, unlike the keys of rates. */
  private readonly teams: readonly { readonly key: string; readonly rule: Rule }[];
  private readonly tasks = new Set<Task>();

  constructor(seed: number) {
    this.seed = seed;
    this.random = new Random(seed);
    const { random } = this;
    const isRough = random.chance(0.8);
    const rough = (most: number): number => (isRough && random.chance(0.6) ? random.next() * most : 0);
    const faults = { loseRequest: rough(0.3), loseReply: rough(0.3), duplicate: rough(0.3), slow: rough(0.3) };
    this.network = new ReservationNetwork(this.time, random, faults);
    this.teams = Array.from({ length: random.whole(1, 2) }, (_, i) => {
      return { key: `team${i}`, rule: { name: "slots", limit: concurrency(random.whole(2, 4)) } };
    });
  }

  async run(): Promise<void> {
    const { random, time } = this;
    const count = random.whole(1, 4);
    for (let i = 0; i < count; i += 1) this.start();
    const steps = random.whole(5, 25);
    for (let i = 0; i < steps; i += 1) time.at(START + random.whole(0, 60 * SECOND), () => this.reserve(i));
    for (let i = random.whole(0, 3); i > 0; i -= 1) time.at(START + random.whole(0, 90 * SECOND), () => this.freeze());
    for (let i = random.whole(0, 2); i > 0; i -= 1) time.at(START + random.whole(0, 90 * SECOND), () => this.kill());
    if (random.chance(0.3)) {
      time.at(START + random.whole(0, 90 * SECOND), () => this.network.cutJournal(random.whole(5, 30) * SECOND));
    }
    await time.runUntil(START + 150 * SECOND, () => this.check());
    // All die. One process that can reach the store cleans up.
    for (const process of this.processes) process.isDead = true;
    this.network.heal();
    this.start();
    await time.runUntil(START + 250 * SECOND, () => this.check());
    for (const { operations, possible } of this.all) this.require(operations, possible);
    for (const team of this.teams) if (this.inUse(team) > 0) throw this.failure(`slots of ${team.key} leaked`);
    if (this.network.journal.size > 0) throw this.failure(`${this.network.journal.size} entries are left`);
  }

  private start(): void {
    // Clocks are up to a minute apart.
    this.processes.push(new ReservingProcess(this.time, this.network, this.random.whole(-30 * SECOND, 30 * SECOND)));
  }

  private pick(): ReservingProcess | undefined {
    const alive = this.processes.filter(({ isDead }) => !isDead);
    return alive.length === 0 ? undefined : this.random.of(alive);
  }

  private freeze(): void {
    const process = this.pick();
    if (process === undefined) return;
    process.pausedUntil = Math.max(process.pausedUntil, this.time.now + this.random.whole(1, 60) * SECOND);
  }

  private kill(): void {
    const process = this.pick();
    if (process === undefined) return;
    process.isDead = true;
    if (this.random.chance(0.7)) this.start();
  }

  private reserve(number: number): void {
    const process = this.pick();
    if (process === undefined) return;
    const rates = limits.slice(0, this.random.whole(1, 2)).map((limit, i): Operation => {
      return { rule: { name: `rule${i}`, limit }, key: `key${number}`, cost: this.random.whole(1, 100) };
    });
    const forMs = this.random.of([2_000, 5_000, 20_000]);
    const slots = this.random.chance(0.6)
      ? { ...this.random.of(this.teams), cost: this.random.whole(1, 2) }
      : undefined;
    // Some have slots only.
    const operations = slots !== undefined && this.random.chance(0.3) ? [] : rates;
    const expected: Expected = { operations, possible: [operations.map(() => 0)], slots };
    this.all.push(expected);
    process.run(() => {
      void this.use(process, expected, forMs).catch((error: unknown) => {
        if (!(error instanceof HeadgateError)) throw error;
        this.failed += 1;
      });
    });
  }

  private async use(process: ReservingProcess, expected: Expected, forMs: number): Promise<void> {
    const { random } = this;
    const { operations, slots } = expected;
    const hasRates = operations.length > 0;
    const checks = slots === undefined ? operations : [slots, ...operations];
    const maxWaitMs = random.of([0, 0, 10_000]);
    const reservation = await process.reservations.reserve(checks, { forMs, maxWaitMs });
    if (!reservation.allowed) {
      if (reservation.deniedBy.some((rule) => rule !== "slots")) throw this.failure("a rate has denied");
      this.denied += 1;
      return;
    }
    const task = slots && { process, slots, signal: reservation.signal };
    if (task !== undefined) this.begin(task);
    // Until it ends, any figure that `spend` has reached may be what another process charges.
    for (let i = random.whole(0, 3); i > 0; i -= 1) {
      await process.clock.sleep(random.whole(0, 8_000));
      if (hasRates) this.spend(reservation, expected);
    }
    await process.clock.sleep(random.whole(0, 8_000));
    const by = random.chance(0.8) ? process : this.pick();
    const ending = random.next();
    // Otherwise it is left open: it is extended until its process dies.
    if (by === undefined || ending >= 0.85) return;
    // Its task has ended, whatever becomes of the call.
    if (task !== undefined) this.tasks.delete(task);
    if (ending < 0.2 || !hasRates) await this.release(reservation, expected);
    else await this.settle(by, process, reservation, expected);
  }

  private begin(task: Task): void {
    this.tasks.add(task);
    const abort = (): void => {
      if (this.tasks.delete(task)) this.aborted += 1;
    };
    if (task.signal.aborted) abort();
    else task.signal.addEventListener("abort", abort);
  }

  /** At no instant are more slots in use, or more tasks running, than there are slots. */
  private check(): void {
    for (const team of this.teams) {
      const { limit } = team.rule.limit;
      const inUse = this.inUse(team);
      if (inUse > limit) throw this.failure(`${inUse} slots of ${limit} are in use`);
      let running = 0;
      for (const { process, slots } of this.tasks) {
        // What was due while it was frozen happens in the moment in which it goes on.
        const isFrozen = this.time.now <= process.pausedUntil;
        if (slots.key === team.key && !process.isDead && !isFrozen) running += slots.cost;
      }
      if (running > limit) throw this.failure(`${running} slots are used by tasks, of ${limit}`);
    }
  }

  private inUse({ key, rule }: { readonly key: string; readonly rule: Rule }): number {
    const [{ inUse = Number.NaN }] = this.network.peek({ rule, key, cost: 0 });
    return inUse;
  }

  private spend(reservation: Reservation, expected: Expected): void {
    const units = this.random.whole(1, 40);
    if (!reservation.spend("rule0", units)) return;
    const [before] = expected.possible.at(-1) ?? [0];
    expected.possible.push([before + units, ...expected.operations.slice(1).map(({ cost }) => cost)]);
  }

  private async release(reservation: Reservation, expected: Expected): Promise<void> {
    const nothing = expected.operations.map(() => 0);
    expected.possible.push(nothing);
    await reservation.release();
    expected.possible = [nothing];
    this.released += 1;
  }

  private async settle(
    by: ReservingProcess,
    own: ReservingProcess,
    reservation: Reservation,
    expected: Expected,
  ): Promise<void> {
    const cost = this.random.whole(0, 150);
    const handle = by === own ? reservation : await by.reservations.find(reservation.id);
    const costs = [cost, ...expected.operations.slice(1).map((operation) => operation.cost)];
    expected.possible.push(costs);
    const before = expected.possible.slice();
    try {
      await handle.settle({ rule0: cost });
      expected.possible = [costs];
      this.settled += 1;
      if (this.random.chance(0.3)) await this.settleAgain(handle, cost);
    } catch (error) {
      if (!(error instanceof HeadgateError) || error.code !== "HG_RESERVATION_LOST") throw error;
      // Another process has ended it with what was spent before; this settlement charges nothing.
      expected.possible = before.slice(0, -1);
      this.lost += 1;
    }
  }

  private async settleAgain(handle: Reservation, cost: number): Promise<void> {
    await handle.settle({ rule0: cost });
    const wrong = await handle.settle({ rule0: cost + 1 }).then(
      () => "no error",
      (error: unknown) => (error instanceof HeadgateError ? error.code : String(error)),
    );
    if (wrong !== "HG_RESERVATION_SETTLED") throw this.failure(`settling with other costs gave ${wrong}`);
  }

  private require(operations: readonly Operation[], possible: readonly (readonly number[])[]): void {
    if (operations.length === 0) return;
    const used = operations.map((operation) => {
      const [{ remaining }] = this.network.peek({ ...operation, cost: 0 });
      return operation.rule.limit.limit - remaining;
    });
    if (this.network.unjournalled.has(operations[0].key)) return;
    const isPossible = possible.some((costs) => costs.every((cost, i) => cost === used[i]));
    const texts = [JSON.stringify(used), JSON.stringify(possible)];
    if (!isPossible) throw this.failure(`${operations[0].key} was charged ${texts[0]}, expected one of ${texts[1]}`);
  }

  private failure(problem: string): Error {
    return new Error(`seed ${this.seed}: ${problem}`);
  }
}
