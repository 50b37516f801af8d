import type { Clock } from "../clock/clock.ts";
import { SystemClock } from "../clock/system-clock.ts";

/** A sleep that can be cut short, and that does not keep the process alive. */
export class WakeableSleep {
  /** How long the current sleep was meant to be, in milliseconds. */
  ms = 0;
  private readonly clock: Clock;
  private end = new AbortController();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  async for(ms: number): Promise<void> {
    const end = new AbortController();
    this.end = end;
    this.ms = ms;
    // The timers of SystemClock would keep the process alive.
    if (!(this.clock instanceof SystemClock)) return this.clock.sleep(ms, end.signal).catch(() => {});
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      timer.unref();
      end.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  wake(): void {
    this.end.abort();
  }
}
