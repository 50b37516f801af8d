import { expect } from "vitest";
import type { Action, AlgorithmName, Answer, Operation } from "../../../src/index.ts";
import type { RedisStore } from "../../../src/redis.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { cellsIn, live, Mirror } from "./mirror.ts";
import type { RedisForTests } from "./redis.ts";

interface Asked {
  readonly expected: readonly Answer[];
  readonly answers: Promise<readonly Answer[]>;
}

/** Asks Redis and memory the same at the same times, and compares all that both say and keep. */
export class Differential {
  private readonly redis: RedisForTests;
  private readonly clock = new ManualClock();
  private readonly mirror = new Mirror(this.clock);
  private readonly prefix: string;
  private readonly store: RedisStore;
  private asked: Asked[] = [];
  private readonly algorithms = new Map<string, AlgorithmName>();

  constructor(redis: RedisForTests, maxBatch = 64) {
    this.redis = redis;
    this.prefix = redis.newPrefix();
    this.store = redis.store({ clock: this.clock, prefix: this.prefix, maxBatch });
  }

  get now(): number {
    return this.clock.now();
  }

  set now(time: number) {
    this.clock.set(time / 1000);
    expect(this.now).toBe(time);
  }

  /** Returns the answers of memory; those of Redis are compared later, so that requests can travel together. */
  ask(action: Action, operations: readonly Operation[]): readonly Answer[] {
    const expected = this.mirror.apply(action, operations);
    this.asked.push({ expected, answers: this.store.apply(action, operations) });
    for (const { rule, key } of operations) {
      this.algorithms.set(this.mirror.nameOf(rule, key), rule.limit.algorithm);
    }
    return expected;
  }

  /** What a key has left. */
  remaining({ rule, key }: Operation): number {
    return this.mirror.apply("peek", [{ rule, key, cost: 0 }])[0].remaining;
  }

  async compare(): Promise<void> {
    const asked = this.asked;
    this.asked = [];
    const answers = await Promise.all(asked.map((each) => each.answers));
    // To the bit: this tells 0 from -0.
    expect(answers).toStrictEqual(asked.map(({ expected }) => expected));
    await Promise.all([...this.algorithms].map(([name, algorithm]) => this.compareRow(name, algorithm)));
  }

  private async compareRow(name: string, algorithm: AlgorithmName): Promise<void> {
    const row = this.mirror.rows.get(name);
    const [, value] = await Promise.all([
      // Redis would drop it by its own clock, which knows nothing of ours.
      this.redis.client.persist(`${this.prefix}:${name}`),
      this.redis.client.getBuffer(`${this.prefix}:${name}`),
    ]);
    expect(value !== null, `Redis keeps ${name}`).toBe(row !== undefined);
    if (value === null || row === undefined) return;
    expect(live(algorithm, cellsIn(value)), name).toStrictEqual(live(algorithm, row.state));
  }
}
