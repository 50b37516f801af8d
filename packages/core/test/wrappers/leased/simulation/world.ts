import { Random, VirtualTime } from "headgate-simulator/virtual-time";
import { fixedWindow, tokenBucket } from "../../../../src/algorithms/registry.ts";
import type { Answer, Rule } from "../../../../src/stores/store.ts";
import type { LeasedOptions } from "../../../../src/wrappers/leased/leased-options.ts";
import { LeasingProcess } from "./leasing-process.ts";
import { type Faults, Network, type Timed } from "./network.ts";

const KEY = "user:1";
const START = 1_700_000_000_000_000;

/** The scenario that a seed determines. */
export interface Scenario {
  readonly algorithm: "fixed_window" | "token_bucket";
  readonly nodes: number;
  readonly total: number;
  readonly windowMs: number;
  readonly requests: number;
  readonly mostCost: number;
  readonly faults: Faults;
  /** How many times a node is paused, dies and is replaced, and the server is frozen. */
  readonly pauses: number;
  readonly crashes: number;
  readonly freezes: number;
  readonly options: LeasedOptions;
}

function scenarioOf(seed: number): Scenario {
  const random = new Random(seed);
  const isRough = random.chance(0.7);
  const rough = (most: number): number => (isRough && random.chance(0.6) ? random.next() * most : 0);
  return {
    algorithm: random.chance(0.75) ? "fixed_window" : "token_bucket",
    nodes: random.of([1, 2, 3, 4, 8]),
    total: random.of([1, 7, 50, 200, 1_000, 5_000]),
    windowMs: random.of([200, 1_000, 5_000, 60_000]),
    requests: random.whole(20, 100),
    mostCost: random.of([1, 1, 1, 3, 20]),
    faults: {
      loseRequest: rough(0.3),
      loseReply: rough(0.3),
      duplicate: rough(0.3),
      slow: rough(0.3),
      loseNews: rough(1),
    },
    pauses: isRough ? random.whole(0, 3) : 0,
    crashes: isRough ? random.whole(0, 2) : 0,
    freezes: isRough ? random.whole(0, 1) : 0,
    options: {
      promoteAfter: random.of([1, 2, 8]),
      idleMs: random.of([200, 1_000]),
      giveBackEveryMs: random.of([500, 15_000]),
      ...(random.chance(0.4) && { base: random.of([1, 5, 20, 200]) }),
    },
  };
}

/** Runs a seed. Throws, with the seed, as soon as an invariant does not hold. */
export async function simulate(seed: number): Promise<World> {
  const world = new World(seed, scenarioOf(seed));
  await world.run();
  return world;
}

export class World {
  readonly nodes: LeasingProcess[] = [];
  /** Units by window. */
  readonly admitted = new Map<number, number>();
  private readonly admissions: { readonly at: number; readonly cost: number }[] = [];
  answered = 0;
  failed = 0;
  denied = 0;
  private readonly seed: number;
  private readonly scenario: Scenario;
  private readonly random: Random;
  private readonly time = new VirtualTime(START);
  private readonly network: Network;
  private readonly rule: Rule;

  constructor(seed: number, scenario: Scenario) {
    this.seed = seed;
    this.scenario = scenario;
    this.random = new Random(seed + 0x5eed);
    this.network = new Network(this.time, this.random, scenario.faults);
    const rate = { limit: scenario.total, windowMs: scenario.windowMs };
    this.rule = { name: "api", limit: scenario.algorithm === "fixed_window" ? fixedWindow(rate) : tokenBucket(rate) };
    for (let i = 0; i < scenario.nodes; i += 1) this.nodes.push(this.newNode());
  }

  async run(): Promise<void> {
    const { random, time, scenario } = this;
    const span = scenario.windowMs * 1000 * random.of([0.5, 1.5, 3]);
    const check = (): void => this.check();
    for (let i = 0; i < scenario.requests; i += 1) {
      const at = START + Math.floor(random.next() * span);
      const count = random.of([1, 1, 4, 16]);
      time.at(at, () => this.burst(count));
    }
    for (let i = 0; i < scenario.pauses; i += 1) {
      time.at(START + random.next() * span, () => {
        random.of(this.nodes).pausedUntil = time.now + random.whole(1_000, scenario.windowMs * 2_000);
      });
    }
    for (let i = 0; i < scenario.crashes; i += 1) {
      time.at(START + random.next() * span, () => {
        const at = random.whole(0, this.nodes.length - 1);
        this.nodes[at].isDead = true;
        this.nodes[at] = this.newNode();
      });
    }
    for (let i = 0; i < scenario.freezes; i += 1) {
      time.at(START + random.next() * span, () => {
        this.network.frozenUntil = time.now + random.whole(1_000, 3_000_000);
      });
    }
    await time.runUntil(START + span + 10_000_000 + scenario.windowMs * 2_000, check);
    if (scenario.algorithm === "token_bucket") this.auditBucket();
    if (scenario.crashes === 0) this.auditLosses();
  }

  /** In any span no more than the burst and what flows back in it: a bucket that all admissions are poured from never runs dry. */
  private auditBucket(): void {
    const { total, windowMs } = this.scenario;
    let level = total;
    let last = START;
    for (const { at, cost } of this.admissions.sort((a, b) => a.at - b.at)) {
      level = Math.min(total, level + ((at - last) * total) / (windowMs * 1000)) - cost;
      last = at;
      this.require(level > -1e-6, `${-level} units were admitted that the bucket did not have`);
    }
  }

  /** Once all is quiet, every request has its answer, and no node has lost a grant that the server gave. */
  private auditLosses(): void {
    this.require(this.open === 0, `${this.open} requests were never answered`);
    // A node that was paused for longer than the store remembers a grant no longer asks about it.
    if (this.scenario.pauses > 0) return;
    const granted = this.nodes.reduce((sum, { store }) => sum + store.stats.granted, 0);
    const { given } = this.network;
    this.require(granted === given, `the server gave ${given} and the nodes know of ${granted}`);
  }

  private open = 0;

  private burst(count: number): void {
    const node = this.random.of(this.nodes);
    for (let i = 0; i < count; i += 1) {
      const cost = this.random.whole(1, this.scenario.mostCost);
      node.run(() => this.request(node, cost));
    }
  }

  private request(node: LeasingProcess, cost: number): void {
    this.open += 1;
    const answered = ([answer]: readonly Answer[]): void => this.count(answer, cost);
    const answers = node.store.apply("take", [{ rule: this.rule, key: KEY, cost }]);
    if ("then" in answers) {
      answers.then(answered, () => {
        this.open -= 1;
        this.failed += 1;
      });
    } else answered(answers);
  }

  /** A request that the store charged itself counts at that moment, whenever its answer came. */
  private count(answer: Timed, cost: number): void {
    this.open -= 1;
    this.answered += 1;
    if (!answer.allowed) {
      this.denied += 1;
      return;
    }
    const at = answer.executedAt ?? this.time.now;
    this.admissions.push({ at, cost });
    if (this.scenario.algorithm === "token_bucket") return;
    const window = this.windowAt(at);
    const units = (this.admitted.get(window) ?? 0) + cost;
    this.admitted.set(window, units);
    this.require(units <= this.scenario.total, `${units} of ${this.scenario.total} were admitted in one window`);
  }

  /** Of the window now: pool + held + spent + burnt = total, and nothing burnt is less than nothing. */
  private check(): void {
    const { total } = this.scenario;
    let held = 0;
    for (const { store, isDead, pausedUntil } of this.nodes) {
      if (isDead) continue;
      const { granted, spent, returning, returned, burnt, held: kept } = store.stats;
      const accounted = spent + kept + returning + returned + burnt;
      this.require(granted === accounted, `a node was granted ${granted} and accounts for ${accounted}`);
      if (this.time.now >= pausedUntil) held += store.leaseOf("api", KEY)?.held ?? 0;
    }
    if (this.scenario.algorithm === "token_bucket") return;
    const [{ remaining }] = this.network.server.apply("peek", [{ rule: this.rule, key: KEY, cost: 1 }]);
    const spent = this.admitted.get(this.windowAt(this.time.now)) ?? 0;
    const burnt = total - remaining - held - spent;
    this.require(burnt >= 0, `pool ${remaining} + held ${held} + spent ${spent} is more than ${total}`);
  }

  private newNode(): LeasingProcess {
    const { random } = this;
    const skew = { offset: random.whole(-60_000_000, 60_000_000), rate: 1 + (random.next() - 0.5) * 0.001 };
    return new LeasingProcess(this.time, this.network, this.scenario.options, skew);
  }

  private windowAt(time: number): number {
    return Math.floor(time / (this.scenario.windowMs * 1000));
  }

  private require(condition: boolean, problem: string): void {
    if (!condition) throw new Error(`seed ${this.seed}: ${problem}`);
  }
}
