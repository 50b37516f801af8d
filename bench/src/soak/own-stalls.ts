const TICK_MS = 100;
const STALL_MS = 1_000;

/** Notices when this process was held up, so that the node is not blamed for it. */
export class OwnStalls {
  /** Milliseconds that were lost in stalls so far. */
  totalMs = 0;
  /** When the last stall ended, in milliseconds since 1970. */
  lastAt = 0;
  private readonly timer: NodeJS.Timeout;
  private before = performance.now();

  constructor() {
    this.timer = setInterval(() => this.tick(), TICK_MS);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private tick(): void {
    const now = performance.now();
    const held = now - this.before - TICK_MS;
    this.before = now;
    if (held < STALL_MS) return;
    this.totalMs += held;
    this.lastAt = Date.now();
  }
}
