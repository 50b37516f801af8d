import {
  type Action,
  type Answer,
  type ApplyOptions,
  type Limit,
  MemoryStore,
  type Operation,
  type Store,
  StoreError,
} from "../../../src/index.ts";
import type { ManualClock } from "../../../src/testing/index.ts";

export interface Call {
  readonly action: Action;
  readonly key: string;
  readonly cost: number;
  readonly limit: Limit;
  /** Milliseconds by the clock. */
  readonly at: number;
  readonly options: ApplyOptions | undefined;
}

/** A store across a network that several nodes share: a request travels, is decided, and its answer travels back. */
export class DistantStore implements Store {
  readonly clock: ManualClock;
  readonly calls: Call[] = [];
  /** What the next calls fail with when they arrive, if anything; by action. */
  failures: Partial<Record<Action, Error>> = {};
  /** Whether the answers of the next calls are lost, the charge having been made. */
  losesAnswers = false;
  readonly memory: MemoryStore;
  private readonly travelMs: number;

  constructor(clock: ManualClock, roundTripMs = 0) {
    this.clock = clock;
    this.memory = new MemoryStore({ clock });
    this.travelMs = roundTripMs / 2;
  }

  async apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    for (const { rule, key, cost, limit = rule.limit } of operations)
      this.calls.push({ action, key, cost, limit, at: this.clock.now() / 1000, options });
    await this.clock.sleep(this.travelMs);
    const failure = this.failures[action];
    if (failure !== undefined) throw failure;
    if (options?.voidFrom !== undefined && this.clock.now() >= options.voidFrom) {
      throw new StoreError("HG_STORE_TIMEOUT", "void");
    }
    const answers = this.memory.apply(action, operations);
    if (this.losesAnswers) throw new StoreError("HG_STORE_TIMEOUT", "no answer");
    await this.clock.sleep(this.travelMs);
    return answers;
  }

  /** All actions fail with this from now on; nothing does without it. */
  fail(error?: Error): void {
    this.failures =
      error === undefined ? {} : { take: error, peek: error, penalize: error, refund: error, reset: error };
  }

  /** Calls as `penalize a 3`, and no longer known. */
  said(): string[] {
    return this.calls.splice(0).map(({ action, key, cost }) => `${action} ${key} ${cost}`);
  }
}

export const unreachable = new StoreError("HG_STORE_UNREACHABLE", "connection refused");
export const timedOut = new StoreError("HG_STORE_TIMEOUT", "no answer");
export const refused = new StoreError("HG_STORE_REFUSED", "OOM");
