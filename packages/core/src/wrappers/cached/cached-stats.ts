import type { DroppedUnits } from "./write-behind.ts";

/** How a cached store stands. */
export interface CachedStats {
  /** Units let in here that the store has not confirmed yet. */
  readonly pendingUnits: number;
  /** Keys of which it is known here that they are limited. */
  readonly limitedKeys: number;
  /** Requests denied here, without the store. */
  readonly denied: number;
  /** Requests that the store decided, since this process did not know enough to decide them. */
  readonly confirmed: number;
  readonly flushes: number;
  readonly failedFlushes: number;
  /** How long the store took for its latest answer, takes on the whole, and took at worst in the last seconds. */
  readonly roundTripMs: number;
  readonly meanRoundTripMs: number;
  readonly worstRoundTripMs: number;
  /** By how much the timer of the latest flush fired late, and of those of the last seconds at worst. */
  readonly timerLagMs: number;
  readonly worstTimerLagMs: number;
  /** Units asked for here each second, by a moving mean. */
  readonly arrivalsPerSecond: number;
  /**
   * What this process may let in over a limit, in units: what is asked for and answered here while a flush waits, is
   * late and travels, with the lag and the round trip that were measured.
   */
  readonly overAdmissionBound: number;
  readonly droppedUnits: DroppedUnits;
}
