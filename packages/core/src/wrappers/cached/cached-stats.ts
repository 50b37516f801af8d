import type { DroppedUnits } from "./write-behind.ts";

/** Live statistics of a `cached` store. */
export interface CachedStats {
  /** Units admitted locally that the store has not confirmed yet. */
  readonly pendingUnits: number;
  /** Keys known to be over their limit. */
  readonly limitedKeys: number;
  /** Requests denied locally, without the store. */
  readonly denied: number;
  /** Requests decided by the store, because not enough was known locally. */
  readonly confirmed: number;
  /** Writes to the store. */
  readonly flushes: number;
  /** Writes that failed. */
  readonly failedFlushes: number;
  /** Round trip to the store: latest, moving average, and the worst of the last seconds. */
  readonly roundTripMs: number;
  readonly meanRoundTripMs: number;
  readonly worstRoundTripMs: number;
  /** Delay of the latest flush timer, and the worst of the last seconds. */
  readonly timerLagMs: number;
  readonly worstTimerLagMs: number;
  /** Units requested per second, a moving average. */
  readonly arrivalsPerSecond: number;
  /**
   * Units that this process may currently admit in excess: what arrives and is decided locally during a flush and a
   * round trip, with the measured delays.
   */
  readonly overAdmissionBound: number;
  /** Units that were admitted and will not be written, by reason. */
  readonly droppedUnits: DroppedUnits;
}
