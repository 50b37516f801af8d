import type { Clock } from "../../time/clock.ts";
import type { Action, Answer, ApplyOptions, Operation, Store } from "../store.ts";

/** The weight of the latest round trip in the mean. */
const LATEST = 0.1;

/** The way to the store: asks it, takes the time, and knows whether it fails. */
export class StoreLink {
  /** How long the latest answer took, and answers take on the whole, in microseconds. */
  roundTrip = 0;
  meanRoundTrip: number | undefined;
  private readonly store: Store;
  private readonly clock: Clock;
  /** What failed last, if nothing has shown since that it works again. */
  private failed: Action | undefined;
  /** Whether the latest answer was not the store's own, but of what stands in for it. */
  private standIn = false;

  constructor(store: Store, clock: Clock) {
    this.store = store;
    this.clock = clock;
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
    this.roundTrip = Math.max(0, this.clock.now() - sent);
    this.meanRoundTrip ??= this.roundTrip;
    this.meanRoundTrip += (this.roundTrip - this.meanRoundTrip) * LATEST;
    this.standIn = answers.some(({ degraded }) => degraded);
    // A store that is full answers a peek and refuses to write: only a write shows that writing works.
    if (action !== "peek" || this.failed === "peek") this.failed = undefined;
    return answers;
  }

  /** Notes a failure, and warns if it is the first of an outage. */
  fail(action: Action, error: unknown): void {
    if (this.failed === undefined) {
      process.emitWarning(
        `the store behind cached() fails: this process decides by what it knows, and writes when the store is back (${error})`,
        { type: "HeadgateWarning", code: "HG_DEGRADED" },
      );
    }
    if (this.failed !== "penalize") this.failed = action;
  }
}
