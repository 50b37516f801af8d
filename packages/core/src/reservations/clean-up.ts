import { HeadgateError } from "../errors.ts";
import type { Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import type { FoundEntry } from "./journal.ts";
import { ReservationState } from "./reservation-state.ts";
import { adjust, end, REMEMBERED, take } from "./reservation-steps.ts";

/**
 * Ends a reservation of a process that died or was unresponsive for too long: with what the process had settled or
 * spent, or else by giving everything back. Steps of which it is unknown whether they happened are repeated under their
 * idempotency keys: if they had not happened, they happen now and are undone with the rest.
 *
 * Returns "later" if the store failed, the state if this ended it, and otherwise "over".
 */
export async function cleanUp(
  store: Store,
  entry: FoundEntry,
  now: number,
): Promise<ReservationState | "over" | "later"> {
  const { id, text, deadline } = entry;
  const state = ReservationState.read(id, text);
  const voidFrom = deadline + REMEMBERED;
  if (state === undefined || now >= voidFrom) return "over";
  try {
    if (!(await catchUp(store, state, voidFrom))) return "over";
    state.settled = state.costsUnlessSettled;
    await end(store, state, state.settled, voidFrom, { storeOnly: true });
    state.isAbandoned = true;
    return state;
  } catch (error) {
    // Any other error would occur again.
    return failureOf(error) === undefined ? "over" : "later";
  }
}

/** Finds out what was taken. Returns false if nothing was. */
export async function catchUp(store: Store, state: ReservationState, voidFrom: number): Promise<boolean> {
  if (!state.isTaken && !(await take(store, state, { voidFrom, storeOnly: true })).allowed) return false;
  await adjust(store, state);
  return true;
}

export function isSettledBefore(error: unknown): boolean {
  return error instanceof HeadgateError && error.code === "HG_RESERVATION_SETTLED";
}
