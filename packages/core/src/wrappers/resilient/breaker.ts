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
 * Gives a store up after so many failures in a row. From then on one call goes through each `retry`
 * microseconds, and the first that is answered closes the breaker again.
 */
export class Breaker {
  state: "closed" | "open" = "closed";
  /** When it came to this state, in microseconds. */
  since: number;
  /**
   * Grows with each change of state. How a call ended counts only in the era in which it was sent: a late
   * failure does not open what a probe has closed; and while open, only probes are sent.
   */
  era = 0;
  /** How many calls were answered, in time or late. */
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
    // More than `retry` are left only if the clock was put back.
    if (left > 0 && left <= this.retry) return false;
    this.probeAt = now + this.retry;
    return true;
  }

  /** How long to wait before asking again, in microseconds: never nothing, or those who wait would spin. */
  get patience(): number {
    if (this.state === "closed") return this.retry;
    return Math.max(LEAST_PATIENCE, Math.min(this.probeAt - this.clock.now(), this.retry));
  }

  succeeded(era: number): void {
    if (era === this.era) this.close();
  }

  /** As a call that was answered does. */
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
