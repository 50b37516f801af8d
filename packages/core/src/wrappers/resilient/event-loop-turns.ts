/** How long the event loop may be blocked, in microseconds. */
const LONGEST_RUN = 5_000;

/**
 * Answers that are available immediately can keep a loop that awaits them running forever: no reply would be read, and
 * the recovery of the store would go unnoticed. Code that answers immediately asks here whether to yield.
 */
export class EventLoopTurns {
  private since = 0;
  private turned: Promise<void> | undefined;

  /** A promise to await if the event loop has been blocked for too long. */
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
