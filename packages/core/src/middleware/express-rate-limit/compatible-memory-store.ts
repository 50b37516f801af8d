import { MemoryStore as Memory, type MemoryStoreOptions } from "../../stores/memory/memory-store.ts";
import type { ClientRateLimitInfo, Options, Store } from "./compatible-types.ts";
import { WindowCounter } from "./counter.ts";

/** Name to count under unless the option `name` is set. */
export const DEFAULT_NAME = "express-rate-limit";
export const DEFAULT_WINDOW_MS = 60_000;
const SHORTEST_WINDOW_MS = 0.001;

/**
 * Headgate's memory store with the methods of the one in express-rate-limit. They apply to the keys of the middleware
 * that was given the store last.
 */
export class MemoryStore extends Memory implements Store {
  readonly localKeys = true;
  #counter: WindowCounter;

  constructor(options?: MemoryStoreOptions) {
    super(options);
    this.#counter = new WindowCounter(this, DEFAULT_NAME, DEFAULT_WINDOW_MS);
  }

  init({ windowMs, name = DEFAULT_NAME }: Pick<Options, "windowMs"> & Partial<Pick<Options, "name">>): void {
    // As in express-rate-limit, a window of length 0 contains only the request that opens it.
    this.#counter = new WindowCounter(this, name, windowMs > 0 ? windowMs : SHORTEST_WINDOW_MS);
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    return this.#counter.get(key);
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    const { totalHits, resetTime } = await this.#counter.hit(key);
    return { totalHits, resetTime };
  }

  async decrement(key: string): Promise<void> {
    await this.#counter.undo(key);
  }

  async resetKey(key: string): Promise<void> {
    await this.#counter.reset(key);
  }

  shutdown(): void {
    this.resetAll();
  }
}
