import { HeadgateError, shown } from "../errors.ts";
import { decide } from "../limiter/decide.ts";
import type { Verdict } from "../limiter/verdict.ts";
import type { Store } from "../stores/store.ts";
import type { FoundEntry } from "./journal.ts";
import { lostReservation, OpenReservation } from "./open-reservation.ts";
import { ReservationState } from "./reservation-state.ts";
import { settledBefore } from "./reservation-steps.ts";

const ENDED_BY_OTHERS = "was ended by another process after its deadline";

/** Finds reservations that other processes have made, in the journal. */
export class ReservationLookup {
  private readonly store: Store;
  private readonly now: () => number;

  /** `now`: the store's time. */
  constructor(store: Store, now: () => number) {
    this.store = store;
    this.now = now;
  }

  /** A reservation that is open, or that has ended recently. */
  async find(id: string): Promise<OpenReservation | undefined> {
    const entry = await this.store.journal?.find(id);
    const state = entry && ReservationState.read(id, entry.text);
    if (entry === undefined || state === undefined) return undefined;
    if (!entry.isEnded && entry.deadline <= this.now()) return undefined;
    const verdict = await decide(
      this.store,
      "peek",
      state.quotas.map(({ operation }) => ({ ...operation, cost: 0 })),
    );
    const kind = { isJournalled: true, isPrivate: false, isUnattended: true, isDegraded: false, isForeign: true };
    const open = new OpenReservation(state, verdict, kind, entry.deadline - state.forMs * 1000);
    if (entry.isEnded) rememberEnd(open, entry);
    return open;
  }

  /** The process that made it may have adjusted it meanwhile. Returns its text in the journal. */
  async refresh(state: ReservationState): Promise<string> {
    const { id } = state;
    const entry = await this.store.journal?.find(id);
    const latest = entry && ReservationState.read(id, entry.text);
    if (entry === undefined || latest === undefined) throw unknownReservation(id);
    if (!entry.isEnded) state.update(latest);
    return entry.text;
  }

  /** For a reservation that this process has not ended, but has been ended. */
  async whyEnded(id: string): Promise<HeadgateError> {
    const entry = await this.store.journal?.find(id).catch(() => undefined);
    // One that has expired is being cleaned up.
    const isKnown = entry !== undefined && (entry.isEnded || entry.deadline > this.now());
    const isSettled = isKnown && ReservationState.read(id, entry.text)?.isAbandoned !== true;
    return isSettled ? settledBefore(id) : lostReservation(id, ENDED_BY_OTHERS);
  }
}

function rememberEnd(open: OpenReservation, { id }: FoundEntry): void {
  const { settled, isAbandoned } = open.state;
  if (isAbandoned || settled === undefined) open.lose(ENDED_BY_OTHERS);
  const verdict = isAbandoned
    ? Promise.reject<Verdict>(lostReservation(id, ENDED_BY_OTHERS))
    : Promise.resolve(open.verdict);
  verdict.catch(() => {});
  open.ended = { costs: settled ?? [], verdict };
}

export function unknownReservation(id: string): HeadgateError {
  return new HeadgateError(
    "HG_UNKNOWN_RESERVATION",
    "id",
    `there is no reservation ${shown(id)} of this key, or it has expired; nothing was charged`,
  );
}
