import type { ManualClock } from "../../src/testing/index.ts";

/** A promise that a test looks at without waiting for it: whether it is settled, how, and at what time. */
export interface Watched<Value> {
  readonly promise: Promise<Value>;
  value?: Value;
  error?: unknown;
  /** Milliseconds by the clock; absent while the promise is pending. */
  at?: number;
}

export function watch<Value>(clock: ManualClock, promise: Promise<Value>): Watched<Value> {
  const watched: Watched<Value> = { promise };
  promise.then(
    (value) => {
      watched.value = value;
      watched.at = clock.now() / 1000;
    },
    (error: unknown) => {
      watched.error = error;
      watched.at = clock.now() / 1000;
    },
  );
  return watched;
}
