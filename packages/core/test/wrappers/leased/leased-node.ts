import { MemoryStore } from "../../../src/stores/memory/memory-store.ts";
import type { Action, Answer, ApplyOptions, Operation, Rule, Store } from "../../../src/stores/store.ts";
import { ManualClock } from "../../../src/testing/manual-clock.ts";
import { LeasedStore } from "../../../src/wrappers/leased/leased.ts";
import type { LeasedOptions } from "../../../src/wrappers/leased/leased-options.ts";

/** What a pool was asked, as `take 10`. */
export type Call = `${Action} ${number}`;

/** A pool in memory that records its calls, and can be made to fail. */
export class WatchedStore implements Store {
  readonly takesFirst = true;
  readonly clock: ManualClock;
  readonly calls: Call[] = [];
  fails: (() => Error) | undefined;
  readonly memory: MemoryStore;
  private readonly topics = new Map<string, Set<(text: string) => void>>();
  readonly notifications = {
    post: (topic: string, text: string): void => {
      for (const listener of this.topics.get(topic) ?? []) listener(text);
    },
    subscribe: (topic: string, listener: (text: string) => void): (() => void) => {
      const known = this.topics.get(topic) ?? new Set();
      this.topics.set(topic, known.add(listener));
      return () => known.delete(listener);
    },
  };

  constructor(clock: ManualClock) {
    this.clock = clock;
    this.memory = new MemoryStore({ clock });
  }

  async apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    this.calls.push(...operations.map(({ cost }): Call => `${action} ${cost}`));
    if (this.fails !== undefined) throw this.fails();
    return this.memory.apply(action, operations, options);
  }

  /** What is left, without recording the call. */
  left(rule: Rule, key: string): number {
    return this.memory.apply("peek", [{ rule, key, cost: 1 }])[0].remaining;
  }
}

export const KEY = "user:1";

export class LeasedNode {
  readonly pool: WatchedStore;
  readonly store: LeasedStore;

  constructor(options: LeasedOptions = {}, pool = new WatchedStore(new ManualClock())) {
    this.pool = pool;
    this.store = new LeasedStore(pool, { promoteAfter: 1, clock: pool.clock, ...options });
  }

  async take(rule: Rule, cost = 1, options?: ApplyOptions): Promise<Answer> {
    const [answer] = await this.store.apply("take", [{ rule, key: KEY, cost }], options);
    return answer;
  }

  /** How many of this number of requests passed. */
  async takeMany(rule: Rule, count: number): Promise<number> {
    let passed = 0;
    for (let i = 0; i < count; i += 1) if ((await this.take(rule)).allowed) passed += 1;
    return passed;
  }
}
