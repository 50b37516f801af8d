import { type Clock, requireClock } from "../../clock/clock.ts";
import { HeadgateError, shown } from "../../errors.ts";
import { type Complete, requireOptions } from "../../options.ts";

export interface CachedOptions {
  /** How long units wait until they are written to the store, all together (default 10). */
  readonly flushMs?: number | undefined;
  /**
   * How often a denial that is in use is verified with the store (default 1000): so long may one outlive a reset
   * elsewhere. What the store said about a quota is trusted as long.
   */
  readonly refreshMs?: number | undefined;
  /**
   * Whether the store decides about a key that this process knows nothing about, or of which less than a fifth is left
   * (default true): one round trip for those requests. With false every request is decided here, and in a burst over
   * many keys each process lets in up to the whole limit.
   */
  readonly confirm?: boolean | undefined;
  /** How many keys may wait to be written (default 10,000): so many are written at once. If the store is gone, the oldest are dropped. */
  readonly maxPending?: number | undefined;
  /** How many keys of each rule are remembered here (default 100,000). Keys beyond are let in until the store says otherwise. */
  readonly maxKeys?: number | undefined;
  /** Whether to look into the store before a request is let in (default false): one round trip, and less let in too many. */
  readonly read?: boolean | undefined;
  /** What stands in for the system's clock and timers. The time of a store that has its own clock comes from there. */
  readonly clock?: Clock | undefined;
}

const OPTIONS: ReadonlySet<string> = new Set([
  "flushMs",
  "refreshMs",
  "confirm",
  "maxPending",
  "maxKeys",
  "read",
  "clock",
]);

/** A longer `setTimeout` fires at once. */
const LONGEST_MS = 2 ** 31 - 1;

type Settings = Complete<Omit<CachedOptions, "clock">> & Pick<CachedOptions, "clock">;

/** The options, checked and with their defaults. */
export function readCachedOptions(options: CachedOptions): Settings {
  requireOptions(options, OPTIONS);
  const { flushMs = 10, refreshMs = 1000, maxPending = 10_000, maxKeys = 100_000, clock } = options;
  const { confirm = true, read = false } = options;
  requireDuration(flushMs, "flushMs");
  requireDuration(refreshMs, "refreshMs");
  requireCount(maxPending, "maxPending");
  requireCount(maxKeys, "maxKeys");
  for (const [name, flag] of Object.entries({ confirm, read })) {
    if (typeof flag === "boolean") continue;
    throw new HeadgateError("HG_BAD_OPTION", name, `must be true or false, got ${shown(flag)}`);
  }
  if (clock !== undefined) requireClock(clock);
  return { flushMs, refreshMs, confirm, maxPending, maxKeys, read, ...(clock && { clock }) };
}

function requireDuration(value: unknown, field: string): void {
  if (typeof value !== "number" || !(value >= 0 && value <= LONGEST_MS)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      field,
      `must be a number of milliseconds from 0 to ${LONGEST_MS}, got ${shown(value)}`,
    );
  }
}

function requireCount(value: unknown, field: string): void {
  if (!Number.isSafeInteger(value) || Number(value) < 1) {
    throw new HeadgateError("HG_BAD_OPTION", field, `must be a whole number of at least 1, got ${shown(value)}`);
  }
}
