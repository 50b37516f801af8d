import { EventQueue } from "../traffic/event-queue.ts";

/** How many steps of promises run after an event: more than any chain of them in a wrapper is long. */
const STEPS = 20;

/** Something that happens at a time. `isSettled`: it has not left promises behind, so nothing has to run after it. */
type Event = () => undefined | { readonly isSettled: boolean };

/** Time that passes only from event to event, in microseconds. Events of one moment run in the order they were set. */
export class VirtualTime {
  now: number;
  readonly #events = new EventQueue<Event>();

  constructor(start: number) {
    this.now = start;
  }

  at(time: number, run: Event): void {
    this.#events.add(Math.max(time, this.now), run);
  }

  after(span: number, run: Event): void {
    this.at(this.now + span, run);
  }

  /** Lets everything happen up to a time. */
  async runUntil(end: number): Promise<void> {
    while (this.#events.nextAt <= end) {
      this.now = this.#events.nextAt;
      const outcome = this.#events.take()?.();
      if (outcome?.isSettled) continue;
      for (let i = 0; i < STEPS; i += 1) await undefined;
    }
    this.now = end;
  }
}
