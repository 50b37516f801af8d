import type { Action, Answer, ApplyOptions, Limit, Operation, Rule, Store } from "../../../src/index.ts";

/** What a test gets: a store that holds nothing yet, and what can be done to it from outside. */
export interface StoreContext {
  readonly store: Store;
  /** The store's own time, where a test can move it. Without it the tests that need time to pass are skipped. */
  readonly clock?: StoreClock;
  /** Whether one request may have operations on several keys (default true); in a cluster they live in several slots. */
  readonly acrossKeys?: boolean;
  close?(): void | Promise<void>;
}

export interface StoreClock {
  /** Microseconds since the epoch. */
  now(): number;
  advance(ms: number): void | Promise<void>;
}

export type MakeStore = () => StoreContext | Promise<StoreContext>;

export function rule(name: string, limit: Limit): Rule {
  return { name, limit };
}

export function operation(rule: Rule, key: string, cost = 1): Operation {
  return { rule, key, cost };
}

/** One operation, and the one answer to it. */
export async function ask(
  store: Store,
  action: Action,
  rule: Rule,
  key: string,
  cost = 1,
  options?: ApplyOptions,
): Promise<Answer> {
  const answers = await store.apply(action, [operation(rule, key, cost)], options);
  if (answers.length !== 1) throw new Error(`one operation got ${answers.length} answers`);
  return answers[0];
}

/** What a key has left, asked without taking anything. */
export async function remaining(store: Store, rule: Rule, key: string): Promise<number> {
  return (await ask(store, "peek", rule, key, 0)).remaining;
}

/** Gives each test a store of its own, and closes it even if the test fails. */
export async function withStore(make: MakeStore, test: (context: StoreContext) => Promise<void>): Promise<void> {
  const context = await make();
  try {
    await test(context);
  } finally {
    await context.close?.();
  }
}
