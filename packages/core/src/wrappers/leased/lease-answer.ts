import type { Answer, LeaseView } from "../../stores/store.ts";

/** An answer given from a lease or from what is known about its pool. The view of the lease is built only on demand. */
export class LeaseAnswer implements Answer {
  readonly time: number;
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfter: number;
  readonly resetAfter: number;
  readonly source = "lease";
  readonly degraded = false;
  private readonly held: number;
  private readonly pool: number;
  private readonly epoch: number;
  private readonly lasts: number;

  /** Waits are in microseconds from `time`; `lasts`: until the lease expires. */
  constructor(
    time: number,
    allowed: boolean,
    held: number,
    pool: number,
    retryAfter: number,
    resetAfter: number,
    epoch: number,
    lasts: number,
  ) {
    this.time = time;
    this.allowed = allowed;
    this.remaining = held + pool;
    this.retryAfter = retryAfter;
    this.resetAfter = resetAfter;
    this.held = held;
    this.pool = pool;
    this.epoch = epoch;
    this.lasts = lasts;
  }

  get lease(): LeaseView {
    return { held: this.held, pool: this.pool, epoch: this.epoch, deadlineMs: this.lasts / 1000 };
  }
}
