import {
  type Action,
  type Answer,
  type ApplyOptions,
  gcra,
  type Limit,
  type Operation,
  type ResilientStore,
  type Rule,
  resilient,
} from "../../../src/index.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import type { DegradedChange } from "../../../src/wrappers/resilient/breaker.ts";
import type { ResilientOptions } from "../../../src/wrappers/resilient/resilient-options.ts";
import { FaultyStore } from "./faulty-store.ts";

// Not at the epoch: the times of today have 16 digits.
export const TODAY_MS = 1_700_000_000_123.457;

export interface Context {
  readonly clock: ManualClock;
  readonly inner: FaultyStore;
  readonly store: ResilientStore;
  /** The calls of `onDegraded`. */
  readonly changes: DegradedChange[];
  take(key: string, cost?: number): Promise<Answer>;
  ask(action: Action, operation: Operation, options?: ApplyOptions): Promise<Answer>;
}

/** Ten each ten seconds, unless a test has other wishes. */
export const ten: Rule = { name: "ten", limit: gcra("10/10s") };

export function operation(rule: Rule = ten, key = "k", cost = 1): Operation {
  return { rule, key, cost };
}

export function rule(name: string, limit: Limit): Rule {
  return { name, limit };
}

/** A resilient store over one whose faults the test chooses, both by one clock. */
export function context(options: Omit<ResilientOptions, "clock" | "onDegraded"> = {}): Context {
  const clock = new ManualClock(TODAY_MS);
  const inner = new FaultyStore(clock);
  const changes: DegradedChange[] = [];
  // Shorter than the default, so that a call that meets it is over before the store is tried again.
  const store = resilient(inner, { deadlineMs: 50, ...options, clock, onDegraded: (change) => changes.push(change) });
  const ask = async (action: Action, asked: Operation, given?: ApplyOptions): Promise<Answer> => {
    const [answer] = await store.apply(action, [asked], given);
    return answer;
  };
  return {
    clock,
    inner,
    store,
    changes,
    take: (key, cost = 1) => ask("take", operation(ten, key, cost)),
    ask,
  };
}

/** Lets the store fail until it is given up. */
export async function giveUp({ inner, take }: Context): Promise<void> {
  inner.mood = "rejecting";
  for (let i = 0; i < 5; i += 1) await take("given up");
  inner.calls.length = 0;
}
