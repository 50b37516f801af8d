import type { MaybePromise } from "../limiter/maybe-promise.ts";
import { type Answer, type ApplyOptions, limitOf } from "../stores/store.ts";
import { chargedUntil } from "./charged-until.ts";
import type { JournalRecord, ReservedOperation } from "./journal-record.ts";

/**
 * How long the charge and the end of a reservation are remembered at most, in microseconds. Later than that, it is
 * unknown what other processes did, so nothing is refunded.
 */
const REMEMBERED = 3_600_000_000;
/** Margin for clocks that differ slightly. */
const SLACK = 10_000_000;

/** Options that make a step take effect once, whichever process sends it. */
export type Once = Required<Pick<ApplyOptions, "idempotencyKey" | "rememberFor" | "voidFrom" | "storeOnly">>;

/** Repeats the charge of a reservation without charging twice. */
export function takeOnce(id: string, { at, operations }: JournalRecord): Once {
  const until = Math.max(...operations.map((operation) => chargedUntil(limitOf(operation), at)));
  return once(id, until, at, at);
}

/**
 * Ends one operation of a reservation. Only the first process to do so has an effect. `sureAt` is when the operation
 * was last known to be open.
 */
export function endOnce(id: string, place: number, operation: ReservedOperation, at: number, sureAt = at): Once {
  return once(`${id}:${place}`, chargedUntil(limitOf(operation), at), at, sureAt);
}

function once(idempotencyKey: string, until: number, at: number, sureAt: number): Once {
  return {
    idempotencyKey,
    rememberFor: Math.min(until - at, REMEMBERED) + SLACK,
    voidFrom: Math.min(until, sureAt + REMEMBERED),
    storeOnly: true,
  };
}

/** Returns false if another process had already ended it differently. */
export async function unlessEnded(end: () => MaybePromise<readonly Answer[]>): Promise<boolean> {
  try {
    await end();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "HG_IDEMPOTENCY_CONFLICT") return false;
    throw error;
  }
}
