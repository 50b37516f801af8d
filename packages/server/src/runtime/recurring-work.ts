/** Runs work at whole multiples of an interval by the wall clock. Does not keep the process alive. */
export class Timetable {
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly under = new Set<Promise<void>>();

  /** `work` must not throw. It is not started again before it has ended. */
  every(intervalMs: number, work: () => Promise<void>): void {
    const wait = (): void => {
      const timer = setTimeout(
        async () => {
          this.timers.delete(timer);
          const running = work();
          this.under.add(running);
          await running;
          this.under.delete(running);
          if (!this.stopped) wait();
        },
        intervalMs - (Date.now() % intervalMs),
      );
      this.timers.add(timer.unref());
    };
    wait();
  }

  /** Stops after the work in progress has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const timer of this.timers) clearTimeout(timer);
    await Promise.all(this.under);
  }

  private stopped = false;
}
