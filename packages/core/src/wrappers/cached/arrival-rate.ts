/** Time constant of the average, in microseconds. */
const MEMORY = 1_000_000;

/** Units per second, as a moving average over about a second. */
export class ArrivalRate {
  private arrived = 0;
  private rate = 0;
  private since: number;

  constructor(now: number) {
    this.since = now;
  }

  add(units: number): void {
    this.arrived += units;
  }

  perSecond(now: number): number {
    const elapsed = now - this.since;
    if (elapsed > 0) {
      const latest = this.arrived / (elapsed / 1_000_000);
      this.rate += (latest - this.rate) * (1 - Math.exp(-elapsed / MEMORY));
      this.arrived = 0;
      this.since = now;
    }
    return this.rate;
  }
}
