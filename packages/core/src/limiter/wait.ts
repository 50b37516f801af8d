import { traitsOf } from "../algorithms/lookup.ts";
import type { Clock } from "../clock/clock.ts";
import { HeadgateError, shown } from "../errors.ts";
import { limitOf, type Operation } from "../stores/store.ts";
import type { CostOptions } from "./check-options.ts";
import { Decision } from "./decision.ts";
import type { WaitingLine } from "./waiting-line.ts";

/** Options of `wait`. */
export interface WaitOptions extends CostOptions {
  /** Aborts the wait: the promise rejects with the reason of the signal, and nothing stays charged. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum time to wait in milliseconds. If it would take longer, the denial is returned. Default: no maximum. */
  readonly maxWaitMs?: number | undefined;
}

/** A waiting call: its position in line, and how to take the quota or give it back. */
export interface Waiter<Name extends string> extends Operation<Name> {
  /** Whether to wait if there is no room, or to return immediately. */
  readonly patient: boolean;
  take(): Promise<Decision<Name>>;
  peek(): Promise<Decision<Name>>;
  /** Returns the state of the key afterwards. */
  giveBack(): Promise<Decision<Name>>;
}

/** Retries until admitted; with a leaky bucket, also waits for the reported delay. */
export async function waitForTurn<Name extends string>(
  waiter: Waiter<Name>,
  line: WaitingLine,
  clock: Clock,
  options: WaitOptions,
): Promise<Decision<Name>> {
  const { signal, maxWaitMs = Number.POSITIVE_INFINITY } = options;
  if (typeof maxWaitMs !== "number" || !(maxWaitMs >= 0)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "maxWaitMs",
      `must be a number of milliseconds of at least 0, got ${shown(maxWaitMs)}`,
    );
  }
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new HeadgateError("HG_BAD_OPTION", "signal", `must be an AbortSignal, got ${shown(signal)}`);
  }
  signal?.throwIfAborted();
  // In whole microseconds, like the times it is compared with: milliseconds since the epoch have no digits left for
  // them.
  const deadline = clock.now() + Math.round(maxWaitMs * 1000);
  const timeLeft = (): number => (deadline - clock.now()) / 1000;
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  try {
    const decision = waiter.patient ? await admitted(waiter, line, clock, timeLeft, stop.signal) : await waiter.take();
    return decision.allowed ? await delayed(decision, waiter, clock, timeLeft, stop.signal) : decision;
  } finally {
    signal?.removeEventListener("abort", onAbort);
    stop.abort();
  }
}

async function admitted<Name extends string>(
  waiter: Waiter<Name>,
  line: WaitingLine,
  clock: Clock,
  timeLeft: () => number,
  stop: AbortSignal,
): Promise<Decision<Name>> {
  const patience = clock.sleep(timeLeft(), stop);
  // It stays pending if the turn comes first, and is then ended by `stop`.
  patience.catch(() => {});
  const { isFirst, woken, leave } = await line.enter(waiter.rule.name, waiter.key, patience);
  try {
    if (!isFirst()) return denial(waiter, await waiter.peek(), 0);
    for (;;) {
      // Before the store is asked: quota returned while it decides may not be in its answer.
      const wake = woken();
      const decision = await waiter.take();
      const never = decision.retryAfterMs === Number.POSITIVE_INFINITY;
      if (decision.allowed || never || decision.retryAfterMs > timeLeft()) return decision;
      await sleepUntil(wake, decision.retryAfterMs, clock, stop);
    }
  } finally {
    leave();
  }
}

/** Sleeps for a time, or until `wake` resolves if that is earlier. */
async function sleepUntil(wake: Promise<void>, ms: number, clock: Clock, stop: AbortSignal): Promise<void> {
  // The signal may have been aborted while the store was deciding, before there was a listener.
  stop.throwIfAborted();
  const sleep = new AbortController();
  const end = (): void => sleep.abort();
  void wake.then(end);
  stop.addEventListener("abort", end, { once: true });
  try {
    await clock.sleep(ms, sleep.signal);
  } catch (reason) {
    if (!sleep.signal.aborted) throw reason;
    stop.throwIfAborted();
  } finally {
    stop.removeEventListener("abort", end);
  }
}

async function delayed<Name extends string>(
  decision: Decision<Name>,
  waiter: Waiter<Name>,
  clock: Clock,
  timeLeft: () => number,
  stop: AbortSignal,
): Promise<Decision<Name>> {
  const { delayMs } = decision;
  const admittedAt = clock.now();
  const tooLong = delayMs - timeLeft();
  if (delayMs > 0 && tooLong > 0) {
    return denial(waiter, await stepOut(decision, waiter, 0), tooLong);
  }
  try {
    // The signal may also have been aborted while the store was deciding.
    stop.throwIfAborted();
    if (delayMs > 0) await clock.sleep(delayMs, stop);
  } catch (reason) {
    await stepOut(decision, waiter, clock.now() - admittedAt);
    throw reason;
  }
  return decision;
}

/**
 * Gives back what was taken. A place in a queue with others behind it stays taken: they keep their turns, so giving it
 * to a new call would let two leave at once.
 */
async function stepOut<Name extends string>(
  decision: Decision<Name>,
  waiter: Waiter<Name>,
  elapsed: number,
): Promise<Decision<Name>> {
  const limit = limitOf(waiter);
  const { burst, drain, unit } = limit;
  if (!traitsOf(limit).queue) return waiter.giveBack();
  const stands = await waiter.peek();
  const expected = Math.min(burst, decision.remaining + (elapsed * drain) / unit);
  // Later calls have taken at least one whole unit.
  return expected - stands.remaining < 0.5 ? waiter.giveBack() : stands;
}

function denial<Name extends string>(
  waiter: Waiter<Name>,
  stands: Decision<Name>,
  retryAfterMs: number,
): Decision<Name> {
  const { remaining, resetAfterMs, timeMs, source, degraded } = stands;
  const retryAfter = Math.max(retryAfterMs, stands.retryAfterMs) * 1000;
  const denied = { allowed: false, remaining, retryAfter, resetAfter: resetAfterMs * 1000 };
  return new Decision(waiter.rule, waiter.cost, denied, Math.round(timeMs * 1000), source, degraded, limitOf(waiter));
}
