import type { Clock } from "../../clock/clock.ts";
import type { Action, Answer, ApplyOptions, Operation, Store } from "../../stores/store.ts";
import { warn } from "../../warning.ts";
import { RecentMaximum } from "./recent-maximum.ts";

/** Weight of the latest round trip in the average. */
const LATEST = 0.1;

/** If the store answered within this time, in microseconds, a failure now affects only a part of it. */
const RECENTLY = 100_000;

/** Calls the store, measures its latency, and tracks whether it is failing. */
export class TimedStore {
  /** Latest and average round trip, in microseconds. */
  roundTrip = 0;
  meanRoundTrip: number | undefined;
  readonly worstRoundTrip: RecentMaximum;
  private readonly store: Store;
  /** The local clock: the store's may be corrected during a call. */
  private readonly clock: Clock;
  private answeredAt = Number.NEGATIVE_INFINITY;
  /** The action that failed last, if nothing has shown since that the store works again. */
  private failed: Action | undefined;
  /** Whether the latest answer came from a fallback inside the store. */
  private standIn = false;

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
    this.worstRoundTrip = new RecentMaximum(clock.now());
  }

  get failing(): boolean {
    return this.failed !== undefined;
  }

  /** Whether local decisions are currently unknown to the store. */
  get degraded(): boolean {
    return this.standIn || this.failing;
  }

  async ask(action: Action, operations: readonly Operation[], options?: ApplyOptions): Promise<readonly Answer[]> {
    const sent = this.clock.now();
    const answers = await this.store.apply(action, operations, options);
    const now = this.clock.now();
    this.answeredAt = now;
    this.roundTrip = Math.max(0, now - sent);
    this.worstRoundTrip.add(this.roundTrip, now);
    this.meanRoundTrip ??= this.roundTrip;
    this.meanRoundTrip += (this.roundTrip - this.meanRoundTrip) * LATEST;
    this.standIn = answers.some(({ degraded }) => degraded);
    // A Redis that is out of memory answers a peek but rejects writes: only a write shows that writing works.
    if (action !== "peek" || this.failed === "peek") this.failed = undefined;
    return answers;
  }

  /** Whether a failure now concerns only a part of the store, such as a shard of a cluster. */
  get isPartial(): boolean {
    return this.clock.now() - this.answeredAt < RECENTLY;
  }

  /** Records a failure, and warns if it is the first of an outage. */
  fail(action: Action, error: unknown): void {
    if (this.failed === undefined) {
      warn(
        "HG_DEGRADED",
        `the store of cached() is failing: this process decides locally and writes when the store is back (${error})`,
      );
    }
    if (this.failed !== "penalize") this.failed = action;
  }
}
