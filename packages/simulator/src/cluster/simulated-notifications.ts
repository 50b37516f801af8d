import type { Notifications } from "headgate/store";
import type { SimulatedProcess } from "./simulated-process.ts";

/** Notifications between processes. `deliver` lets a message arrive later, or never. */
export class SimulatedNotifications {
  readonly #deliver: (arrive: () => void) => void;
  readonly #listeners = new Map<string, Set<(text: string) => void>>();

  constructor(deliver: (arrive: () => void) => void) {
    this.#deliver = deliver;
  }

  /** As a process sees them. */
  of(process: SimulatedProcess): Notifications {
    return {
      post: (topic, text) => {
        for (const hear of this.#listeners.get(topic) ?? []) this.#deliver(() => hear(text));
      },
      subscribe: (topic, listener) => {
        const hear = (text: string): void => process.run(() => listener(text));
        const known = this.#listeners.get(topic) ?? new Set();
        this.#listeners.set(topic, known.add(hear));
        return () => known.delete(hear);
      },
    };
  }
}
