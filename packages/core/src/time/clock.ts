/** The only source of time. */
export interface Clock {
  /** Whole microseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason if that aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
