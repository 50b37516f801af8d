import { type Action, type Answer, type ApplyOptions, MemoryStore, type Operation } from "headgate";
import type { VirtualTime } from "./virtual-time.ts";

/** One server: a real store that does one call after the other, each of which takes a while. */
export class SimulatedShard {
  calls = 0;
  busy = 0;
  readonly #time: VirtualTime;
  readonly #callUs: number;
  #store: MemoryStore;
  #freeAt = 0;

  constructor(time: VirtualTime, callUs: number) {
    this.#time = time;
    this.#callUs = callUs;
    this.#store = this.#blank();
  }

  /** When a call that arrives now is done. */
  enter(): number {
    const start = Math.max(this.#time.now, this.#freeAt);
    this.#freeAt = start + this.#callUs;
    this.calls += 1;
    this.busy += this.#callUs;
    return this.#freeAt;
  }

  apply(action: Action, operations: readonly Operation[], options: ApplyOptions | undefined): readonly Answer[] {
    return this.#store.apply(action, operations, options);
  }

  /** Answers nothing for a while. */
  stop(span: number, losesData: boolean): void {
    this.#freeAt = Math.max(this.#freeAt, this.#time.now) + span;
    if (losesData) this.#store = this.#blank();
  }

  #blank(): MemoryStore {
    const sleep = (): Promise<void> => Promise.reject(new Error("a server does not wait"));
    return new MemoryStore({ clock: { now: () => this.#time.now, sleep }, maxKeys: Number.MAX_SAFE_INTEGER });
  }
}
