import { setTimeout as delay } from "node:timers/promises";
import { LIMIT, WINDOW_MS } from "./subject.ts";
import { subjectOf } from "./subjects.ts";
import { withTeam } from "./with-team.ts";

export const REQUESTS = 10_000;

export interface OverAdmission {
  readonly processes: number;
  readonly admitted: number;
  /** What the limit allows in the windows that the burst touched. */
  readonly allowed: number;
  readonly errors: number;
  readonly seconds: number;
}

/** All processes together make 10,000 calls as fast as they can, beginning early in a window. */
export function overAdmission(subject: string, processes: number): Promise<OverAdmission> {
  const requests = REQUESTS / processes;
  return withTeam(subject, processes, { kind: "burst", requests }, async (team) => {
    await delay(WINDOW_MS - (Date.now() % WINDOW_MS) + 100);
    const made = await team.begin();
    const calls = made.flatMap((each) => each ?? []);
    const count = (result: string): number => calls.filter((call) => call.result === result).length;
    const start = calls.reduce((least, { at }) => Math.min(least, at), Number.POSITIVE_INFINITY);
    const end = calls.reduce((most, { at, tookMs }) => Math.max(most, at + tookMs), 0);
    return {
      processes,
      admitted: count("admitted"),
      allowed: LIMIT * windowsIn(subjectOf(subject).windows, start, end),
      errors: count("error") + REQUESTS - calls.length,
      seconds: (end - start) / 1_000,
    };
  });
}

/** How many windows a burst touched, at most. */
function windowsIn(windows: "aligned" | "first request" | "own", start: number, end: number): number {
  if (windows === "aligned") return 1 + Math.floor(end / WINDOW_MS) - Math.floor(start / WINDOW_MS);
  return Math.ceil((end - start) / WINDOW_MS) + (windows === "own" ? 1 : 0);
}
