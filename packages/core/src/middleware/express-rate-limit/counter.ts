import { fixedWindow } from "../../algorithms/registry.ts";
import { HeadgateError, StoreError, shown } from "../../errors.ts";
import { isPromise } from "../../limiter/maybe-promise.ts";
import type { Action, Answer, Store as HeadgateStore, Rule } from "../../stores/store.ts";
import type { ClientRateLimitInfo, LegacyStore, Options, Store } from "./compatible-types.ts";

/** A request that was counted, or not because the limit was reached. */
export interface Hit extends ClientRateLimitInfo {
  /** Whether it was charged, and can be refunded. */
  readonly charged: boolean;
}

/** Counts the requests of each key per window. */
export interface Counter {
  hit(key: string, limit: number): Promise<Hit>;
  /** Refunds a request that was counted under this limit. */
  undo(key: string, limit: number): Promise<void>;
  reset(key: string): Promise<void>;
  get(key: string): Promise<ClientRateLimitInfo | undefined>;
  /** The time in milliseconds, by the clock that reset times use. */
  now(): number;
}

/** A limit that is never reached, for counting only. */
export const ENDLESS = Number.MAX_SAFE_INTEGER;

/** Number of limits to cache if they differ by request. */
const MOST_RULES = 1_000;

/**
 * Counts in a Headgate store, in windows that start with the first request. Requests over the limit are not counted.
 */
export class WindowCounter implements Counter {
  private readonly store: HeadgateStore;
  private readonly name: string;
  private readonly windowMs: number;
  /** For calls that do not belong to a request. */
  private readonly usual: number;
  private readonly rules = new Map<number, Rule>();

  constructor(store: HeadgateStore, name: string, windowMs: number, limit = ENDLESS) {
    this.store = store;
    this.name = name;
    this.windowMs = windowMs;
    this.usual = unitsOf(limit);
    this.rule(this.usual);
  }

  async hit(key: string, limit = ENDLESS): Promise<Hit> {
    const units = unitsOf(limit);
    const answer = await this.apply("take", key, units, 1);
    const used = answer.allowed ? Math.max(1, units - Math.floor(answer.remaining)) : units + 1;
    return { totalHits: used, resetTime: resetTimeOf(answer), charged: answer.allowed };
  }

  async undo(key: string, limit = ENDLESS): Promise<void> {
    await this.apply("refund", key, unitsOf(limit), 1);
  }

  async reset(key: string): Promise<void> {
    await this.apply("reset", key, this.usual, 1);
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const answer = await this.apply("peek", key, this.usual, 0);
    const totalHits = this.usual - Math.floor(answer.remaining);
    return totalHits > 0 ? { totalHits, resetTime: resetTimeOf(answer) } : undefined;
  }

  now(): number {
    const { clock } = this.store;
    // Rounded like the reset times, so that the wait until one is not reported as longer than it is.
    return clock === undefined ? Date.now() : Math.ceil(clock.now() / 1000);
  }

  /** Untyped callers may pass a number as the key. */
  private async apply(action: Action, key: string, units: number, cost: number): Promise<Answer> {
    const [answer] = await this.store.apply(action, [{ rule: this.rule(units), key: String(key), cost }]);
    return answer;
  }

  /** Returns the same object for the same limit, because stores cache by identity. */
  private rule(units: number): Rule {
    const known = this.rules.get(units);
    if (known !== undefined) return known;
    const limit = fixedWindow({ limit: units, windowMs: this.windowMs }, { anchor: "request" });
    const rule = Object.freeze({ name: this.name, limit });
    if (this.rules.size >= MOST_RULES) this.rules.clear();
    this.rules.set(units, rule);
    return rule;
  }
}

/** The limit for Headgate. Limits below one admit nothing, so requests are only counted. */
function unitsOf(limit: number): number {
  return limit >= 1 ? Math.min(Math.floor(limit), ENDLESS) : ENDLESS;
}

/** The reset time by the store's clock at the decision. Reading the clock again would give a later time. */
function resetTimeOf({ time, resetAfter }: Answer): Date {
  return new Date(Math.ceil((time + resetAfter) / 1000));
}

/** Counts in a store of express-rate-limit, which counts every request. */
export class StoreCounter implements Counter {
  private readonly store: Store;

  constructor(store: Store) {
    this.store = store;
  }

  init(options: Options): Promise<void> | undefined {
    const done = this.store.init?.(options as never);
    return isPromise(done) ? done : undefined;
  }

  async hit(key: string): Promise<Hit> {
    const { totalHits, resetTime } = await this.store.increment(key);
    if (!(totalHits >= 1)) {
      throw new StoreError("HG_STORE_REFUSED", `must return a number of requests, got ${shown(totalHits)}`);
    }
    // A copy, because some stores keep using the object.
    return { totalHits, resetTime: resetTime && new Date(resetTime), charged: true };
  }

  async undo(key: string): Promise<void> {
    await this.store.decrement(key);
  }

  async reset(key: string): Promise<void> {
    await this.store.resetKey(key);
  }

  /** Throws synchronously, like express-rate-limit, if the store has no `get`. */
  get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const { store } = this;
    if (store.get === undefined) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "store",
        "has no get method, which getKey needs: call getKey with a store that has one",
      );
    }
    return Promise.resolve(store.get(key));
  }

  now(): number {
    return Date.now();
  }
}

export function isHeadgateStore(store: object): store is HeadgateStore {
  return "apply" in store && typeof store.apply === "function";
}

/** Validates a store of express-rate-limit, current or legacy. */
export function requireStore(store: object): Store {
  const has = (name: string): boolean => typeof Reflect.get(store, name) === "function";
  const mayHave = (name: string): boolean => Reflect.get(store, name) === undefined || has(name);
  if (has("decrement") && has("resetKey") && mayHave("init") && mayHave("resetAll")) {
    if (has("increment")) return store as Store;
    if (has("incr")) return fromLegacy(store as LegacyStore);
  }
  throw new HeadgateError(
    "HG_BAD_OPTION",
    "store",
    "must be a Headgate store or implement the Store interface of express-rate-limit",
  );
}

function fromLegacy(store: LegacyStore): Store {
  return {
    increment: (key) =>
      new Promise((resolve, reject) => {
        store.incr(key, (error, totalHits, resetTime) => {
          if (error) reject(error);
          else resolve({ totalHits, resetTime });
        });
      }),
    decrement: (key) => store.decrement(key),
    resetKey: (key) => store.resetKey(key),
  };
}
