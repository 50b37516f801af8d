import { EventQueue } from "../traffic/event-queue.ts";

/** How many steps of promises run after an event: more than any chain of them in a wrapper is long. */
const STEPS = 20;

/** Time that passes only from event to event, in microseconds. Events of one moment run in the order they were set. */
export class VirtualTime {
  now: number;
  readonly #events = new EventQueue<() => void>();
  #isSettled = false;

  constructor(start: number) {
    this.now = start;
  }

  at(time: number, run: () => void): void {
    this.#events.add(Math.max(time, this.now), run);
  }

  after(span: number, run: () => void): void {
    this.at(this.now + span, run);
  }

  /** Called by an event that has not left promises behind: then nothing has to run after it, which saves time. */
  settled(): void {
    this.#isSettled = true;
  }

  /** Lets everything happen up to a time. `check` is called after each event. */
  async runUntil(end: number, check: () => void = () => {}): Promise<void> {
    while (this.#events.nextAt <= end) {
      this.now = this.#events.nextAt;
      this.#isSettled = false;
      this.#events.take()?.();
      if (!this.#isSettled) for (let i = 0; i < STEPS; i += 1) await undefined;
      check();
    }
    this.now = end;
  }
}
