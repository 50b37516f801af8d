import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** Node reports each connection that it accepts here, whichever server it is for. */
const ACCEPTED = "net.server.socket";
/** Connections that follow each other faster than this arrive together. */
const TOGETHER_MS = 1;
/** Enough for another process to wake up. */
const PAUSE_MS = 0.1;
/** In a row: if the others do not take their part, this worker takes the rest without further delay. */
const MOST_PAUSES = 100;

const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/**
 * Spreads connections that arrive together over the workers. All workers are woken, and one that is awake first could
 * take all of them, and keep them: it pauses after each, except the first, to let the others accept. Returns a function
 * that ends this.
 */
export function shareBursts(
  pause: () => void = sleepBriefly,
  nowMs: () => number = () => performance.now(),
): () => void {
  let last = Number.NEGATIVE_INFINITY;
  let pauses = 0;
  const onAccepted = (): void => {
    if (nowMs() - last > TOGETHER_MS) pauses = 0;
    else if (pauses < MOST_PAUSES) {
      pauses += 1;
      pause();
    }
    last = nowMs();
  };
  subscribe(ACCEPTED, onAccepted);
  return () => void unsubscribe(ACCEPTED, onAccepted);
}

function sleepBriefly(): void {
  Atomics.wait(never, 0, 0, PAUSE_MS);
}
