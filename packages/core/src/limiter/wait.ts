import { HeadgateError, shown } from "../errors.ts";
import type { Clock } from "../time/clock.ts";
import { Decision, type RuleWithNames } from "./decision.ts";
import type { CheckOptions } from "./requests.ts";
import type { WaitingLine } from "./waiting-line.ts";

export interface WaitOptions extends CheckOptions {
  /** Stop waiting: the promise rejects with the signal's reason, and nothing is charged. */
  readonly signal?: AbortSignal;
  /** Wait no longer than this; then the answer is the denial. Default: as long as it takes. */
  readonly maxWaitMs?: number;
}

/** One who waits: where in line, and how to take what is waited for, or give it back. */
export interface Waiter<Name extends string> {
  readonly rule: RuleWithNames<Name>;
  readonly key: string;
  readonly cost: number;
  /** Whether to stay when there is no room, or be told at once. */
  readonly patient: boolean;
  take(): Promise<Decision<Name>>;
  giveBack(): Promise<unknown>;
}

/** Asks until admitted; with a leaky bucket, also stays for the delay that it tells. */
export async function waitForTurn<Name extends string>(
  waiter: Waiter<Name>,
  line: WaitingLine,
  clock: Clock,
  { signal, maxWaitMs = Number.POSITIVE_INFINITY }: WaitOptions,
): Promise<Decision<Name>> {
  if (typeof maxWaitMs !== "number" || !(maxWaitMs >= 0)) {
    throw new HeadgateError(
      "HG_BAD_OPTION",
      "maxWaitMs",
      `must be a number of milliseconds from 0 on, got ${shown(maxWaitMs)}`,
    );
  }
  signal?.throwIfAborted();
  const deadline = clock.now() / 1000 + maxWaitMs;
  const timeLeft = (): number => deadline - clock.now() / 1000;
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  try {
    const decision = waiter.patient ? await admitted(waiter, line, clock, timeLeft, stop.signal) : await waiter.take();
    return await delayed(decision, waiter, clock, timeLeft, stop.signal);
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
  // It is left pending when the turn comes first, and then ended by `stop`.
  patience.catch(() => {});
  const leave = await line.enter(JSON.stringify([waiter.rule.name, waiter.key]), patience);
  try {
    for (;;) {
      const decision = await waiter.take();
      if (decision.allowed || decision.retryAfterMs > timeLeft()) return decision;
      await clock.sleep(decision.retryAfterMs, stop);
    }
  } finally {
    leave();
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
  if (delayMs === 0) return decision;
  const tooLong = delayMs - timeLeft();
  if (tooLong > 0) {
    await waiter.giveBack();
    const { remaining, resetAfterMs, source, degraded } = decision;
    const refused = {
      allowed: false,
      remaining: remaining + waiter.cost,
      retryAfter: tooLong * 1000,
      resetAfter: resetAfterMs * 1000,
    };
    return new Decision(waiter.rule, waiter.cost, refused, source, degraded);
  }
  try {
    await clock.sleep(delayMs, stop);
  } catch (reason) {
    await waiter.giveBack();
    throw reason;
  }
  return decision;
}
