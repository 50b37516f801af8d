const MINUTE = 60_000_000;

/** The minute of the clock in which most requests were denied. */
export interface MinuteCounts {
  /** When it begins, in microseconds since the epoch. */
  readonly time: number;
  readonly requests: number;
  readonly denied: number;
}

/** Finds the worst minute of requests in order of time. */
export class WorstMinute {
  #minute = Number.NaN;
  #requests = 0;
  #denied = 0;
  #worst: MinuteCounts | undefined;

  count(time: number, denied: boolean): void {
    const minute = Math.floor(time / MINUTE);
    if (minute !== this.#minute) this.#begin(minute);
    this.#requests += 1;
    if (denied) this.#denied += 1;
  }

  /** Undefined if nothing was denied. The first of several that are equal. */
  get worst(): MinuteCounts | undefined {
    this.#begin(this.#minute);
    return this.#worst;
  }

  #begin(minute: number): void {
    if (this.#denied > (this.#worst?.denied ?? 0)) {
      this.#worst = { time: this.#minute * MINUTE, requests: this.#requests, denied: this.#denied };
    }
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#requests = 0;
    this.#denied = 0;
  }
}
