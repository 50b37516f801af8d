import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** Node reports each connection that it accepts here, whichever server it is for. */
const ACCEPTED = "net.server.socket";
/** Connections that follow each other faster than this arrive together. */
const TOGETHER_MS = 1;
/** Enough for another process to wake up. */
const PAUSE_MS = 0.1;
/**
 * A worker pauses for at most this long in each period. Otherwise, connections that arrive all the time would keep it from
 * working, and on a busy machine each pause takes much longer than asked for.
 */
const MOST_PAUSED_MS = 20;
const PERIOD_MS = 1_000;

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
  let periodFrom = Number.NEGATIVE_INFINITY;
  let pausedMs = 0;
  const onAccepted = (): void => {
    const now = nowMs();
    if (now - periodFrom > PERIOD_MS) {
      periodFrom = now;
      pausedMs = 0;
    }
    const isTogether = now - last <= TOGETHER_MS;
    last = now;
    if (!isTogether || pausedMs >= MOST_PAUSED_MS) return;
    pause();
    last = nowMs();
    pausedMs += last - now;
  };
  subscribe(ACCEPTED, onAccepted);
  return () => void unsubscribe(ACCEPTED, onAccepted);
}

function sleepBriefly(): void {
  Atomics.wait(never, 0, 0, PAUSE_MS);
}
