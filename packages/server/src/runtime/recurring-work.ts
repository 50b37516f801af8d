/** Work that comes back, at whole multiples of an interval by the wall clock. It keeps no process alive. */
export class Timetable {
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly under = new Set<Promise<void>>();

  /** `work` must not fail. It is not begun again before it has ended. */
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

  /** Ends it, when what is under way has ended. */
  async stop(): Promise<void> {
    this.stopped = true;
    for (const timer of this.timers) clearTimeout(timer);
    await Promise.all(this.under);
  }

  private stopped = false;
}
