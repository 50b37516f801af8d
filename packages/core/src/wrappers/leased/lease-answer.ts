import type { Answer, LeaseView } from "../../stores/store.ts";

/** An answer by what this node holds or knows of a pool. How the lease stood is put together only for who asks. */
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

  /** Waits in microseconds from `time`; `lasts`: until the lease is worth nothing. */
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
