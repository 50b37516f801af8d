import {
  type Action,
  type Answer,
  type ApplyOptions,
  MemoryStore,
  type Operation,
  type Store,
} from "../../src/index.ts";
import type { ManualClock } from "../../src/testing/index.ts";

/** A store that answers by a promise, as one across a network does: it decides at once, and the answer travels. */
export class SlowStore implements Store {
  readonly takesFirst = true;
  readonly calls: { readonly action: Action; readonly operations: readonly Operation[] }[] = [];
  /** What the next calls fail with, if anything. */
  failure: Error | undefined;
  private readonly memory: MemoryStore;
  readonly clock: ManualClock;
  /** How long each further answer takes. */
  travelMs: number;

  constructor(clock: ManualClock, travelMs = 0) {
    this.memory = new MemoryStore({ clock });
    this.clock = clock;
    this.travelMs = travelMs;
  }

  async apply(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    this.calls.push({ action, operations });
    if (this.failure !== undefined) throw this.failure;
    const answers = this.memory.apply(action, operations, options);
    await this.clock.sleep(this.travelMs);
    return answers;
  }
}
