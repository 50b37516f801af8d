import {
  type Action,
  type Answer,
  type ApplyOptions,
  MemoryStore,
  type Operation,
  type Store,
  StoreError,
} from "../../../src/index.ts";
import type { ManualClock } from "../../../src/testing/index.ts";

/**
 * How a store behaves: `prompt` answers without a promise, `well` with one, `slow` after `slowMs`; `silent`
 * never does; `rejecting` and `throwing` fail with `failure`.
 */
export type Mood = "prompt" | "well" | "slow" | "silent" | "rejecting" | "throwing";

/** A store whose faults the test chooses. It decides at once, as a server does whose reply is then lost or late. */
export class FaultyStore implements Store {
  readonly takesFirst = true;
  mood: Mood = "well";
  slowMs = 0;
  failure: unknown = new StoreError("HG_STORE_UNREACHABLE", "is gone");
  closed = 0;
  readonly calls: [Action, readonly Operation[], ApplyOptions | undefined][] = [];
  readonly clock: ManualClock;
  private readonly memory: Store;

  constructor(clock: ManualClock) {
    this.clock = clock;
    this.memory = new MemoryStore({ clock });
  }

  apply(
    action: Action,
    operations: readonly Operation[],
    options?: ApplyOptions,
  ): readonly Answer[] | Promise<readonly Answer[]> {
    this.calls.push([action, operations, options]);
    if (this.mood === "throwing") throw this.failure;
    if (this.mood === "rejecting") return Promise.reject(this.failure);
    const answers = this.memory.apply(action, operations, options);
    if (this.mood === "prompt") return answers;
    if (this.mood === "silent") return new Promise(() => {});
    return this.clock.sleep(this.mood === "slow" ? this.slowMs : 0).then(() => answers);
  }

  close(): void {
    this.closed += 1;
  }
}
