import { type Action, type Answer, type ApplyOptions, MemoryStore, type Operation } from "headgate";
import { SplitGroups } from "./split-groups.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** How much longer a heartbeat of `split` takes for each replica of the group, in microseconds: docs/stores/split.md. */
const BEAT_US_PER_REPLICA = 4;

/** One server: a real store that does one call after the other, each of which takes a while. */
export class SimulatedShard {
  calls = 0;
  busy = 0;
  readonly #time: VirtualTime;
  readonly #callUs: number;
  #store: MemoryStore;
  #groups = new SplitGroups();
  /** How often it was replaced by a server without its data, which has another run id. */
  #run = 0;
  #freeAt = 0;

  constructor(time: VirtualTime, callUs: number) {
    this.#time = time;
    this.#callUs = callUs;
    this.#store = this.#blank();
  }

  /** When a call that arrives now is done. A heartbeat is for the group of a key. */
  enter(group?: string): number {
    const start = Math.max(this.#time.now, this.#freeAt);
    const span = this.#callUs + (group === undefined ? 0 : BEAT_US_PER_REPLICA * this.#groups.sizeOf(group));
    this.#freeAt = start + span;
    this.calls += 1;
    this.busy += span;
    return this.#freeAt;
  }

  apply(action: Action, operations: readonly Operation[], options: ApplyOptions | undefined): readonly Answer[] {
    return this.#store.apply(action, operations, options);
  }

  /** Executes a command of `split`. */
  execute(command: readonly unknown[]): unknown {
    return this.#groups.execute(command, Math.floor(this.#time.now / 1000), String(this.#run));
  }

  /** Answers nothing for a while. */
  stop(span: number, losesData: boolean): void {
    this.#freeAt = Math.max(this.#freeAt, this.#time.now) + span;
    if (!losesData) return;
    this.#store = this.#blank();
    this.#groups = new SplitGroups();
    this.#run += 1;
  }

  #blank(): MemoryStore {
    const sleep = (): Promise<void> => Promise.reject(new Error("a server does not wait"));
    return new MemoryStore({ clock: { now: () => this.#time.now, sleep }, maxKeys: Number.MAX_SAFE_INTEGER });
  }
}
