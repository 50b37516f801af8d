import { setTimeout as delay } from "node:timers/promises";
import type { Call } from "./orders.ts";
import { WINDOW_MS } from "./subject.ts";
import { withTeam } from "./with-team.ts";

export const PROCESSES = 4;
export const PER_SECOND = 20;
const BEFORE_MS = 3_000;
/** Shorter than a window, so that it fits into one that is aligned to the clock. */
export const OUTAGE_MS = 9_500;
const AFTER_MS = 6_000;
/** How far into a window the outage begins. */
const INTO_WINDOW_MS = 200;

export type Fault = "frozen" | "killed";

export interface Outage {
  readonly calls: number;
  readonly admitted: number;
  readonly denied: number;
  readonly errors: number;
  /** Calls that were made in the outage and not answered before it ended. */
  readonly late: number;
  readonly longestMs: number;
  /** From the end of the outage until the last call that failed or waited for a second. */
  readonly backAfterMs: number;
  readonly crashed: number;
}

/** Four processes make 20 calls a second each. Redis fails for most of a window. */
export function outage(subject: string, fault: Fault): Promise<Outage> {
  const forMs = BEFORE_MS + OUTAGE_MS + AFTER_MS;
  return withTeam(subject, PROCESSES, { kind: "steady", perSecond: PER_SECOND, forMs }, async (team, redis) => {
    await delay(WINDOW_MS - ((Date.now() + BEFORE_MS) % WINDOW_MS) + INTO_WINDOW_MS);
    const made = team.begin();
    await delay(BEFORE_MS);
    const from = Date.now();
    if (fault === "frozen") redis.pause();
    else await redis.kill();
    await delay(OUTAGE_MS);
    const until = Date.now();
    if (fault === "frozen") redis.resume();
    else await redis.start();
    const nodes = await made;
    const crashed = nodes.filter((each) => each === undefined).length;
    return summary(
      nodes.flatMap((each) => each ?? []),
      from,
      until,
      crashed,
    );
  });
}

function summary(calls: readonly Call[], from: number, until: number, crashed: number): Outage {
  const during = calls.filter(({ at }) => at >= from && at < until);
  const late = during.filter(({ at, tookMs }) => at + tookMs > until);
  const count = (result: string): number => during.filter((call) => call.result === result).length;
  const failed = calls.filter(
    ({ at, tookMs, result }) => at >= until && (result === "error" || result === "unanswered" || tookMs > 1_000),
  );
  return {
    calls: during.length,
    admitted: count("admitted"),
    denied: count("denied"),
    errors: count("error") + count("unanswered"),
    late: late.length,
    longestMs: during.reduce((longest, { tookMs }) => Math.max(longest, tookMs), 0),
    backAfterMs: failed.reduce((latest, { at }) => Math.max(latest, at - until), 0),
    crashed,
  };
}
