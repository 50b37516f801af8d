import type { Clock } from "../../clock/clock.ts";
import type { Action, Answer, ApplyOptions, Operation, Store } from "../../stores/store.ts";
import { RecentMaximum } from "./recent-maximum.ts";

/** The weight of the latest round trip in the mean. */
const LATEST = 0.1;

/** A store that has answered within this time, in microseconds, is there: what fails then is a part of it. */
const RECENTLY = 100_000;

/** The way to the store: asks it, takes the time, and knows whether it fails. */
export class TimedStore {
  /** How long the latest answer took, and answers take on the whole, in microseconds. */
  roundTrip = 0;
  meanRoundTrip: number | undefined;
  readonly worstRoundTrip: RecentMaximum;
  private readonly store: Store;
  /** This process's own: the store's may be corrected while a call is under way. */
  private readonly clock: Clock;
  private answeredAt = Number.NEGATIVE_INFINITY;
  /** What failed last, if nothing has shown since that it works again. */
  private failed: Action | undefined;
  /** Whether the latest answer was not the store's own, but of what stands in for it. */
  private standIn = false;

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
    this.worstRoundTrip = new RecentMaximum(clock.now());
  }

  get failing(): boolean {
    return this.failed !== undefined;
  }

  /** Whether what is decided here is not known to the store. */
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
    // A store that is full answers a peek and refuses to write: only a write shows that writing works.
    if (action !== "peek" || this.failed === "peek") this.failed = undefined;
    return answers;
  }

  /** Whether a failure now says something about a part of the store only, such as a shard of a cluster. */
  get isPartial(): boolean {
    return this.clock.now() - this.answeredAt < RECENTLY;
  }

  /** Notes a failure, and warns if it is the first of an outage. */
  fail(action: Action, error: unknown): void {
    if (this.failed === undefined) {
      process.emitWarning(
        `the store of cached() is failing: this process decides locally and writes when the store is back (${error})`,
        { type: "HeadgateWarning", code: "HG_DEGRADED" },
      );
    }
    if (this.failed !== "penalize") this.failed = action;
  }
}
