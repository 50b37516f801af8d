import { type Clock, requireClock } from "../../clock/clock.ts";
import {
  type Complete,
  milliseconds,
  type Requirements,
  readOptions,
  trueOrFalse,
  wholeNumber,
} from "../../options.ts";

/** Options of `cached`. */
export interface CachedOptions {
  /**
   * Delay before admitted units are written to the store, in milliseconds. 0 writes in the same turn of the event loop.
   * Default 10.
   */
  readonly flushMs?: number | undefined;
  /**
   * How often a denial in use is verified with the store, and how long the store's answers are trusted, in
   * milliseconds. A denial can outlive a reset elsewhere by this time. Default 1000.
   */
  readonly refreshMs?: number | undefined;
  /**
   * Let the store decide about unknown keys and keys with less than a fifth left, which costs these requests a round
   * trip. With false, every request is decided locally, and in a burst over many keys each process may admit the whole
   * limit. Default true.
   */
  readonly confirm?: boolean | undefined;
  /**
   * Maximum number of keys that wait to be written. When it is reached, they are written immediately; if the store is
   * down, the oldest are dropped. Default 10,000.
   */
  readonly maxPending?: number | undefined;
  /**
   * Maximum number of keys per rule that are remembered. The store decides about further keys; with `confirm: false`
   * they are admitted until the store denies them. Default 100,000.
   */
  readonly maxKeys?: number | undefined;
  /**
   * Ask the store before each request that is not known to be over its limit: one round trip, and fewer requests in
   * excess. Default false.
   */
  readonly read?: boolean | undefined;
  /** Clock and timers, for tests. Stores with their own clock provide the time. */
  readonly clock?: Clock | undefined;
}

const REQUIREMENTS: Requirements<CachedOptions> = {
  flushMs: milliseconds(0),
  refreshMs: milliseconds(0),
  confirm: trueOrFalse,
  maxPending: wholeNumber(1),
  maxKeys: wholeNumber(1),
  read: trueOrFalse,
  clock: requireClock,
};

type Settings = Complete<Omit<CachedOptions, "clock">> & Pick<CachedOptions, "clock">;

/** Validates the options and fills in the defaults. */
export function readCachedOptions(options: CachedOptions): Settings {
  const { flushMs = 10, refreshMs = 1000, confirm = true, read = false, clock } = readOptions(options, REQUIREMENTS);
  const { maxPending = 10_000, maxKeys = 100_000 } = options;
  return { flushMs, refreshMs, confirm, maxPending, maxKeys, read, ...(clock && { clock }) };
}
