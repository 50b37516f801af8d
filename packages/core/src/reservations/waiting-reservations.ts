import type { Clock } from "../clock/clock.ts";
import { decide } from "../limiter/decide.ts";
import { Decision, setQueued } from "../limiter/decision.ts";
import { Verdict } from "../limiter/verdict.ts";
import { limitOf, type Operation, type Store } from "../stores/store.ts";
import { OpenReservation } from "./open-reservation.ts";
import { type PlaceInLine, ReservationLine } from "./reservation-line.ts";
import { ReservationState } from "./reservation-state.ts";

/** How often slots are asked for in case a notification got lost, in milliseconds. */
const POLL_MS = 1_000;
const TOPIC = "slots";

/** Reservations that wait for quota, in line. */
export class WaitingReservations {
  private readonly store: Store;
  private readonly clock: Clock;
  private readonly line = new ReservationLine();

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
  }

  /** Quota was returned in this process. Without a key: a limit has changed. */
  wake(counter: string, key?: string): void {
    if (key === undefined) this.line.wakeAll();
    else this.line.wake(counter, key);
  }

  /** Tells other processes that slots were released, if all of them were in use: otherwise there are no waiters. */
  notify(counter: string, key: string, decision: Decision, released: number): void {
    if (decision.remaining <= released) this.store.notifications?.post(TOPIC, JSON.stringify([counter, key]));
  }

  /** Attempts until one is allowed, or returns the last denial when the time is up. */
  async until<Name extends string>(
    operations: readonly Operation<Name>[],
    attempt: () => Promise<OpenReservation<Name>>,
    maxWaitMs: number,
    signal: AbortSignal | undefined,
  ): Promise<OpenReservation<Name>> {
    const deadline = this.clock.now() + Math.round(maxWaitMs * 1000);
    const place = this.line.enter(operations);
    const over = new AbortController();
    const abort = (): void => over.abort(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    const patience = this.clock.sleep(maxWaitMs, over.signal);
    patience.catch(() => {});
    const unsubscribe = this.store.notifications?.subscribe(TOPIC, (text) => this.hear(text));
    try {
      await Promise.race([place.turn, patience]);
      if (!place.isFirst()) return await this.outOfTime(operations, place);
      for (;;) {
        // Before the store is asked: quota returned while it decides may not be in its answer.
        const woken = place.woken();
        const open = await attempt();
        const leftMs = (deadline - this.clock.now()) / 1000;
        const isOver = leftMs <= 0 || shortestWaitOf(open.verdict) > leftMs;
        if (open.verdict.allowed || isOver) return queued(open, operations, place);
        over.signal.throwIfAborted();
        await this.sleep(Math.min(waitOf(open.verdict), leftMs), woken, over.signal);
      }
    } finally {
      unsubscribe?.();
      signal?.removeEventListener("abort", abort);
      over.abort();
      place.leave();
    }
  }

  private async sleep(ms: number, woken: Promise<void>, over: AbortSignal): Promise<void> {
    const end = new AbortController();
    const stop = (): void => end.abort();
    over.addEventListener("abort", stop, { once: true });
    try {
      await Promise.race([this.clock.sleep(ms, end.signal).catch(() => {}), woken]);
    } finally {
      over.removeEventListener("abort", stop);
      end.abort();
    }
    over.throwIfAborted();
  }

  /** A denial for a reservation whose time was up before its turn came. */
  private async outOfTime<Name extends string>(
    operations: readonly Operation<Name>[],
    place: PlaceInLine,
  ): Promise<OpenReservation<Name>> {
    // Now: while the store is asked, those ahead may leave.
    const isBehind = operations.map((operation) => place.queued(operation) > 1);
    const { decisions } = await decide(this.store, "peek", operations);
    const denied = decisions.map((decision, i) => {
      const { rule, cost } = operations[i];
      if (!decision.allowed || !isBehind[i]) return decision;
      const { remaining, timeMs, resetAfterMs, source, degraded } = decision;
      const numbers = { allowed: false, remaining, retryAfter: 0, resetAfter: resetAfterMs * 1000 };
      return new Decision(rule, cost, numbers, Math.round(timeMs * 1000), source, degraded, limitOf(operations[i]));
    });
    const kind = { isJournalled: false, isPrivate: true, isUnattended: false, isDegraded: false, isForeign: false };
    const state = new ReservationState<Name>(crypto.randomUUID(), 0, []);
    return queued(new OpenReservation(state, new Verdict(denied), kind, 0), operations, place);
  }

  private hear(text: string): void {
    try {
      const [counter, key]: unknown[] = JSON.parse(text);
      if (typeof counter === "string" && typeof key === "string") this.wake(counter, key);
    } catch {
      // Another version may post something else.
    }
  }
}

/** Milliseconds until it is worth asking again: Infinity if it never is. */
function waitOf({ decisions }: Verdict): number {
  const waits = decisions.map(({ allowed, retryAfterMs, retryIsUpperBound }) => {
    if (allowed) return 0;
    return retryIsUpperBound ? Math.min(retryAfterMs, POLL_MS) : retryAfterMs;
  });
  return Math.max(1, ...waits);
}

/** Milliseconds until it can be allowed at the earliest: slots may be released at any time. */
function shortestWaitOf({ decisions }: Verdict): number {
  return Math.max(0, ...decisions.map(({ retryAfterMs, retryIsUpperBound }) => (retryIsUpperBound ? 0 : retryAfterMs)));
}

function queued<Name extends string>(
  open: OpenReservation<Name>,
  operations: readonly Operation[],
  place: PlaceInLine,
): OpenReservation<Name> {
  for (const [i, decision] of open.verdict.decisions.entries()) setQueued(decision, place.queued(operations[i]));
  return open;
}
