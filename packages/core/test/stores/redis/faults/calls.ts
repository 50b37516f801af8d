import { fixedWindow, type Rule, type Store, StoreError } from "../../../../src/index.ts";
import { ask, remaining } from "../../conformance/context.ts";

/** For a server that answers: on a busy machine, even that takes longer than the default deadline. */
export const PATIENT = { timeoutMs: 30_000 };

const MOST = 1_000_000_000;

/** A limit that no test comes near: what was charged is counted, and nothing is denied. */
export const counted: Rule = { name: "counted", limit: fixedWindow(`${MOST}/d`, { anchor: "request" }) };

/** How much of `counted` a key was charged. */
export async function charged(store: Store, key: string): Promise<number> {
  return MOST - (await remaining(store, counted, key));
}

/** How a call ended: allowed or denied, or with which code a store failed. */
export interface Ended {
  readonly as: string;
  /** The error's message, if there was one. */
  readonly message: string;
  /** How long it took, and when it began, in milliseconds. */
  readonly took: number;
  readonly begun: number;
}

/** Anything but an answer or a StoreError is thrown. */
export async function ended(call: () => Promise<{ allowed: boolean }>): Promise<Ended> {
  const begun = performance.now();
  const end = (as: string, message = ""): Ended => ({ as, message, took: performance.now() - begun, begun });
  try {
    return end((await call()).allowed ? "allowed" : "denied");
  } catch (error) {
    if (error instanceof StoreError) return end(error.code, error.message);
    throw error;
  }
}

/** Takes one unit of `counted`. */
export function take(store: Store, key: string): Promise<Ended> {
  return ended(() => ask(store, "take", counted, key));
}

/** Takes again and again, a few at a time and each time on the next key, until it is stopped. */
export class Traffic {
  private readonly calls: Promise<Ended>[] = [];
  private readonly timer: NodeJS.Timeout;

  constructor(store: Store, keys: readonly string[], everyMs = 3) {
    let next = 0;
    this.timer = setInterval(() => {
      for (let i = 0; i < 4; i += 1) {
        this.calls.push(take(store, keys[next % keys.length]));
        next += 1;
      }
    }, everyMs);
  }

  /** How all of its calls ended, in the order in which they began. */
  async stop(): Promise<Ended[]> {
    clearInterval(this.timer);
    return Promise.all(this.calls);
  }
}

/** How often each end came. */
export function counts(calls: readonly Ended[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { as } of calls) counts[as] = (counts[as] ?? 0) + 1;
  return counts;
}
