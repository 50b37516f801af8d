import { HeadgateError } from "../errors.ts";
import type { Store } from "../stores/store.ts";
import { failureOf } from "../wrappers/resilient/store-failure.ts";
import type { FoundEntry } from "./journal.ts";
import { ReservationState } from "./reservation-state.ts";
import { adjust, REMEMBERED, releaseSlots, settleRates, take } from "./reservation-steps.ts";

/**
 * Ends a reservation of a process that died or was unresponsive for too long: with what the process had settled or
 * spent, or else by giving everything back. Steps that may or may not have happened are repeated under their
 * idempotency keys: if they had not happened, they happen now and are undone with the rest. Slots are free when their
 * lease ends: the process may still use them if it could extend them, but not its entry in the journal.
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
    const taken = await catchUp(store, state, voidFrom, deadline - state.forMs * 1000);
    if (taken === undefined) return "over";
    state.settled = state.costsUnlessSettled;
    // Slots that were taken only now have no other user.
    const slots = taken >= deadline && state.hasSlots ? releaseSlots(store, state, { storeOnly: true }) : undefined;
    const settled = state.hasRates
      ? settleRates(store, state, state.settled, voidFrom, { removesEntry: false })
      : undefined;
    await Promise.all([settled, slots]);
    state.isAbandoned = true;
    return state;
  } catch (error) {
    // Any other error would occur again.
    return failureOf(error) === undefined ? "over" : "later";
  }
}

/**
 * Finds out what was taken. Returns when, by the store's clock in microseconds, or 0 if that is known to be past;
 * undefined if nothing was. `madeAt`: when it was made, if it has not been extended since.
 */
export async function catchUp(
  store: Store,
  state: ReservationState,
  voidFrom: number,
  madeAt: number,
): Promise<number | undefined> {
  let time = 0;
  // Slots that were not taken need not be given back, and others are free when their lease ends.
  if (!state.hasRates) return time;
  if (!state.isTaken && state.isAtomic) state.noteTaken(madeAt);
  else if (!state.isTaken) {
    const { allowed, timeMs } = await take(store, state, { voidFrom, storeOnly: true });
    if (!allowed) return undefined;
    time = timeMs * 1000;
  }
  await adjust(store, state);
  return time;
}

export function isSettledBefore(error: unknown): boolean {
  return error instanceof HeadgateError && error.code === "HG_RESERVATION_SETTLED";
}
