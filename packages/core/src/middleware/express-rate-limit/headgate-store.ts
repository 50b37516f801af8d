import { HeadgateError, shown } from "../../errors.ts";
import { aName, readOptions } from "../../options.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import type { Store as Wrapped } from "../../stores/store.ts";
import { DEFAULT_NAME } from "./compatible-memory-store.ts";
import type { ClientRateLimitInfo, Options, Store } from "./compatible-types.ts";
import { isHeadgateStore, WindowCounter } from "./counter.ts";

export interface HeadgateStoreOptions {
  /**
   * Name under which keys are counted. Stores that count separately need different ones. Default `express-rate-limit`.
   */
  readonly prefix?: string | undefined;
}

/**
 * A store for the express-rate-limit package that counts in a Headgate store. As that package requires, denied requests
 * are counted too.
 */
export class HeadgateStore implements Store {
  readonly prefix: string;
  readonly localKeys: boolean;
  readonly #store: Wrapped;
  #counter: WindowCounter | undefined;

  constructor(store: Wrapped, options: HeadgateStoreOptions = {}) {
    if (typeof store !== "object" || store === null || !isHeadgateStore(store)) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "store",
        `must be a store such as new RedisStore(…), got ${shown(store)}`,
      );
    }
    const { prefix = DEFAULT_NAME } = readOptions(options, { prefix: aName });
    this.prefix = prefix;
    this.localKeys = store instanceof MemoryStore;
    this.#store = store;
  }

  init({ windowMs }: Pick<Options, "windowMs">): void {
    this.#counter = new WindowCounter(this.#store, this.prefix, windowMs);
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    return this.#ready.get(key);
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    const { totalHits, resetTime } = await this.#ready.hit(key);
    return { totalHits, resetTime };
  }

  async decrement(key: string): Promise<void> {
    await this.#ready.undo(key);
  }

  async resetKey(key: string): Promise<void> {
    await this.#ready.reset(key);
  }

  get #ready(): WindowCounter {
    if (this.#counter === undefined) {
      throw new HeadgateError(
        "HG_BAD_OPTION",
        "store",
        "is not ready: init was not called, or failed for its windowMs",
      );
    }
    return this.#counter;
  }
}
