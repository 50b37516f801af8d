/** How long the event loop may be kept from turning, in microseconds. */
const LONGEST_RUN = 5_000;

/**
 * Answers that come at once can keep a loop that awaits them running without end: then no reply is ever read, and
 * nobody finds out that the store is back. Whoever answers so asks here whether it is time to let the loop turn.
 */
export class EventLoopTurns {
  private since = 0;
  private turned: Promise<void> | undefined;

  /** What to wait for, if the event loop has not turned for long. */
  overdue(now: number): Promise<void> | undefined {
    if (this.turned !== undefined) return now - this.since > LONGEST_RUN ? this.turned : undefined;
    this.since = now;
    this.turned = new Promise((resolve) => {
      setImmediate(() => {
        this.turned = undefined;
        resolve();
      });
    });
    return undefined;
  }
}
