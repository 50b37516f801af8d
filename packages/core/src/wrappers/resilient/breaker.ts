import type { Clock } from "../../clock/clock.ts";

/**
 * A change of the circuit breaker: the store is considered down, with the last error, or it is back, with the length of
 * the outage.
 */
export type DegradedChange = (
  | { readonly degraded: true; readonly cause: unknown }
  | { readonly degraded: false; readonly afterMs: number }
) & {
  /** The affected server, if only its keys are affected: a node of a Redis Cluster, as `host:port`. */
  readonly node?: string;
};

/** In microseconds. */
const LEAST_PATIENCE = 1_000;

/**
 * Stops calling a store after a number of consecutive failures. From then on, one call per `retry` microseconds is sent,
 * and the first one that is answered closes the breaker.
 */
export class Breaker {
  state: "closed" | "open" = "closed";
  /** When it entered this state, in microseconds. */
  since: number;
  /**
   * Incremented with each change of state. The result of a call counts only in the era in which it was sent: a late
   * failure does not open a breaker that a probe has closed, and while it is open, only probes are sent.
   */
  era = 0;
  /** Number of calls that were answered, in time or late. */
  heard = 0;
  private failuresInRow = 0;
  private probeAt = 0;
  private readonly failures: number;
  private readonly retry: number;
  private readonly clock: Clock;
  private readonly onChange: (change: DegradedChange) => void;

  constructor(failures: number, retry: number, clock: Clock, onChange: (change: DegradedChange) => void) {
    this.failures = failures;
    this.retry = retry;
    this.clock = clock;
    this.since = clock.now();
    this.onChange = onChange;
  }

  /** Whether a call may be sent to the store. */
  admits(now: number): boolean {
    if (this.state === "closed") return true;
    const left = this.probeAt - now;
    // More than `retry` is left only if the clock was set back.
    if (left > 0 && left <= this.retry) return false;
    this.probeAt = now + this.retry;
    return true;
  }

  /** How long to wait before asking again, in microseconds. Never 0, so that waiting callers do not spin. */
  get patience(): number {
    if (this.state === "closed") return this.retry;
    return Math.max(LEAST_PATIENCE, Math.min(this.probeAt - this.clock.now(), this.retry));
  }

  succeeded(era: number): void {
    if (era === this.era) this.close();
  }

  /** Closes the breaker, as an answered call does. */
  close(): void {
    this.failuresInRow = 0;
    if (this.state === "closed") return;
    const opened = this.since;
    this.enter("closed");
    this.onChange({ degraded: false, afterMs: (this.since - opened) / 1000 });
  }

  failed(era: number, cause: unknown): void {
    if (era !== this.era || this.state === "open") return;
    this.failuresInRow += 1;
    if (this.failuresInRow < this.failures) return;
    this.enter("open");
    this.probeAt = this.since + this.retry;
    this.onChange({ degraded: true, cause });
  }

  private enter(state: "closed" | "open"): void {
    this.state = state;
    this.since = this.clock.now();
    this.era += 1;
  }
}
