import { HeadgateError } from "../errors.ts";
import type { Verdict } from "../limiter/verdict.ts";
import type { ReservationState } from "./reservation-state.ts";
import { REMEMBERED } from "./reservation-steps.ts";

/** A reservation that this process made or looked up, and what it knows about it. */
export class OpenReservation<Name extends string = string> {
  readonly state: ReservationState<Name>;
  readonly verdict: Verdict<Name>;
  readonly kind: ReservationKind;
  /** Distinguishes it from others of this process. */
  readonly name: string;
  /** When it was last known to be open, by the store's clock. */
  sureAt: number;
  /** When its slots were last known to be held: by the store or, while it fails, by the fallback. */
  slotsSureAt: number;
  /** When it was last extended, or an attempt was made. */
  triedAt: number;
  /** Until when it was extended explicitly. */
  extendedTo = 0;
  /** When it was made. */
  readonly madeAt: number;
  isAdjusting = false;
  /** Whether its id was read, so that other processes may ask for it. */
  isShared: boolean;
  /** The text in the journal. */
  written = "";
  /** The costs it was ended with, and the result: with the store's failure until it is known. */
  ended: { readonly costs: readonly number[]; verdict: Promise<Verdict<Name>> } | undefined;
  /** Whether it must still be ended in the store, which failed. */
  isUndone = false;
  /** Why it is lost, if it is. */
  lost: HeadgateError | undefined;
  /** Its neighbours among the open reservations, and the next one in its bucket there. */
  before: OpenReservation | undefined;
  after: OpenReservation | undefined;
  nextInBucket: OpenReservation | undefined;
  /** Created when it is asked for: that takes longer than all else. */
  #lostSignal: AbortController | undefined;

  constructor(state: ReservationState<Name>, verdict: Verdict<Name>, kind: ReservationKind, sureAt: number) {
    this.state = state;
    this.verdict = verdict;
    this.kind = kind;
    this.name = kind.isApart ? `${state.id} slots` : state.id;
    this.isShared = kind.isForeign;
    this.sureAt = sureAt;
    this.slotsSureAt = sureAt;
    this.triedAt = sureAt;
    this.madeAt = sureAt;
  }

  /** Until when no other process ends it, as far as is known. */
  get deadline(): number {
    return Math.max(this.sureAt + this.state.forMs * 1000, this.extendedTo);
  }

  /** Until when no other reservation can take its slots, as far as is known. */
  get slotsDeadline(): number {
    return Math.max(this.slotsSureAt + this.state.forMs * 1000, this.extendedTo);
  }

  /** From when on the store may have forgotten that another process ended it. */
  get voidFrom(): number {
    return this.deadline + REMEMBERED;
  }

  /** Whether other processes may ask for it. */
  get isFindable(): boolean {
    return this.isShared && !this.kind.isPrivate;
  }

  get hasSlots(): boolean {
    return this.state.hasSlots;
  }

  /** Aborts when it is lost. */
  get signal(): AbortSignal {
    if (this.#lostSignal === undefined) {
      this.#lostSignal = new AbortController();
      if (this.lost !== undefined) this.#lostSignal.abort(this.lost);
    }
    return this.#lostSignal.signal;
  }

  lose(problem: string): void {
    if (this.lost !== undefined) return;
    this.lost = lostReservation(this.state.id, problem);
    this.#lostSignal?.abort(this.lost);
  }

  throwIfLost(): void {
    if (this.lost !== undefined) throw this.lost;
  }
}

export interface ReservationKind {
  /** Whether the journal has it. Slots alone need no journal. */
  readonly isJournalled: boolean;
  /** Whether its id is not handed on, so that no other process asks what became of it. */
  readonly isPrivate: boolean;
  /** Whether this process does not extend it, because a client does. */
  readonly isUnattended: boolean;
  /** Whether the fallback of a failing store has decided, so that there is nothing to settle in the store. */
  readonly isDegraded: boolean;
  /** Whether another process made it. */
  readonly isForeign: boolean;
  /** Whether these are the slots of a reservation whose other quota is settled apart from them. */
  readonly isApart?: boolean;
}

export function lostReservation(id: string, problem: string): HeadgateError {
  return new HeadgateError("HG_RESERVATION_LOST", "reservation", `${id} ${problem}`);
}
