import type { FoundEntry, ReservationJournal } from "./journal.ts";
import type { OpenReservation } from "./open-reservation.ts";
import { ReservationState, type ReservedCheck } from "./reservation-state.ts";

/** How long entries of the journal are parsed, in milliseconds, before other work can run. */
const TURN_MS = 5;

/** A reservation that has not ended. */
export interface ListedReservation {
  readonly id: string;
  /** When it expires unless it is extended, in milliseconds since the epoch, by the store's clock. */
  readonly deadlineMs: number;
  /** When it was made, in milliseconds since the epoch, by the store's clock. */
  readonly madeAtMs: number;
  /** On whose behalf it was made, if that was stated. */
  readonly owner: string | undefined;
  readonly checks: readonly ReservedCheck[];
}

/** Those of this process, at most `most` of them, those that expire next first. */
export function listOpen(open: Iterable<OpenReservation>, most: number): readonly ListedReservation[] {
  const own = Array.from(open, ({ state, deadline }) => listed(state, deadline));
  return own.sort((a, b) => a.deadlineMs - b.deadlineMs).slice(0, most);
}

/** Those of all processes, at most `most` of them, those that expire next first. */
export async function listJournal(journal: ReservationJournal, most: number): Promise<readonly ListedReservation[]> {
  // Pending takes of checks are not listed, but have the earliest deadlines: if they crowd it, ask for more.
  for (let asked = most; ; asked *= 4) {
    const entries = await journal.list(asked);
    const found = await reservationsIn(entries);
    if (found.length >= most || entries.length < asked) return found.slice(0, most);
  }
}

async function reservationsIn(entries: readonly FoundEntry[]): Promise<readonly ListedReservation[]> {
  const found: ListedReservation[] = [];
  let turnEnds = performance.now() + TURN_MS;
  for (const { id, text, deadline } of entries) {
    const state = ReservationState.read(id, text);
    if (state !== undefined && !state.isPending) found.push(listed(state, deadline));
    if (performance.now() < turnEnds) continue;
    await new Promise((resolve) => setTimeout(resolve));
    turnEnds = performance.now() + TURN_MS;
  }
  return found;
}

function listed({ id, madeAt, owner, checks }: ReservationState, deadline: number): ListedReservation {
  return { id, deadlineMs: deadline / 1000, madeAtMs: madeAt / 1000, owner, checks };
}
