/** Runs one task at a time, in the order of the calls. */
export class OneAtATime {
  #isBusy = false;
  readonly #waiting = new Set<() => void>();

  /** A task that is aborted while it waits fails immediately and is never started. */
  async run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#isBusy) await this.#turn(signal);
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
      const [next] = this.#waiting;
      next?.();
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(begin);
        reject(signal?.reason);
      };
      const begin = (): void => {
        this.#waiting.delete(begin);
        signal?.removeEventListener("abort", leave);
        // Until it continues, no other task may start.
        this.#isBusy = true;
        resolve();
      };
      this.#waiting.add(begin);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}
