import { HeadgateError, shown } from "../errors.ts";
import { milliseconds, must, type Requirements, requireOptions } from "../options.ts";
import { limitOf, type Operation } from "../stores/store.ts";
import type { ReserveOnceKey } from "./reserve-once.ts";

/** Options of `reserve`. */
export interface ReserveOptions {
  /**
   * How long the reservation remains if its process dies, in milliseconds, from 1,000 to 3,600,000. While the process
   * lives, it extends the reservation. Default 60,000.
   */
  readonly forMs?: number | undefined;
  /**
   * Maximum time to wait in milliseconds, in line with other reservations of the same keys. Default 0: the denial is
   * returned at once.
   */
  readonly maxWaitMs?: number | undefined;
  /** Aborts the wait: the promise rejects with the reason of the signal, and nothing stays reserved. */
  readonly signal?: AbortSignal | undefined;
}

/** What the middleware and `run` ask for in addition. */
export interface InternalReserveOptions extends ReserveOptions {
  /** The checks whose cost is not an estimate. */
  readonly final?: readonly boolean[] | undefined;
  /**
   * The id is not handed on, so no other process will ask for the reservation. If it was released because this process was
   * frozen, settling it still charges the costs.
   */
  readonly isPrivate?: boolean | undefined;
  /**
   * This process does not extend it: it made the reservation for a client, which extends it by its id or lets it expire.
   */
  readonly isUnattended?: boolean | undefined;
  /** Makes it safe to ask for again. Only for reservations that are unattended. */
  readonly once?: ReserveOnceKey | undefined;
  /** On whose behalf it is made. It is recorded; the caller compares it before it uses a reservation that it looked up. */
  readonly owner?: string | undefined;
}

const INTERNAL: ReadonlySet<string> = new Set(["final", "isPrivate", "isUnattended", "once", "owner"]);

export const DEFAULT_FOR_MS = 60_000;

/** Requires a duration of a reservation. */
export const requireForMs = milliseconds(1_000, 3_600_000);

const REQUIREMENTS: Requirements<ReserveOptions> = {
  forMs: requireForMs,
  maxWaitMs: must("a number of milliseconds of at least 0", (ms) => typeof ms === "number" && ms >= 0),
  signal: must("an AbortSignal", (signal) => signal instanceof AbortSignal),
};

const NAMES: ReadonlySet<string> = new Set(Object.keys(REQUIREMENTS));

/** Validates options. */
export function readReserveOptions(options: InternalReserveOptions): ReserveOptions {
  for (const name in options) {
    if (!NAMES.has(name) && !INTERNAL.has(name)) requireOptions({ [name]: undefined }, NAMES);
  }
  const { forMs, maxWaitMs, signal } = options;
  if (forMs !== undefined) REQUIREMENTS.forMs(forMs, "forMs");
  if (maxWaitMs !== undefined) REQUIREMENTS.maxWaitMs(maxWaitMs, "maxWaitMs");
  if (signal !== undefined) REQUIREMENTS.signal(signal, "signal");
  return options;
}

/** Rejects a reservation that could never be made, however long it waits. */
export function requireFitting(
  operations: readonly Operation[],
  fieldOf = (_: Operation, i: number): string => `checks[${i}].cost`,
): void {
  for (const [i, operation] of operations.entries()) {
    const { burst } = limitOf(operation);
    if (operation.cost <= burst) continue;
    throw new HeadgateError(
      "HG_BAD_COST",
      fieldOf(operation, i),
      `must be at most ${burst}, which is all that the rule ${shown(operation.rule.name)} holds, got ${operation.cost}: it would never be allowed`,
    );
  }
}
