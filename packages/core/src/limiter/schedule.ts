import { HeadgateError, shown } from "../errors.ts";
import type { Decision } from "./decision.ts";
import type { WaitOptions } from "./wait.ts";

export interface ScheduleOptions extends WaitOptions {
  /**
   * How long a task may wait in all, for room in the queue and then for its turn; if that is not enough, it does not
   * run. Default: as long as it takes.
   */
  readonly maxWaitMs?: number | undefined;
  /** What happens to a task that finds the queue full: it waits for room (the default), or does not run. */
  readonly whenFull?: "wait" | "drop" | undefined;
}

/** Whether a task waits for room in the queue. */
export function requireWhenFull(whenFull: unknown = "wait"): boolean {
  if (whenFull === "wait" || whenFull === "drop") return whenFull === "wait";
  throw new HeadgateError("HG_BAD_OPTION", "whenFull", `must be "wait" or "drop", got ${shown(whenFull)}`);
}

/**
 * What became of a scheduled task: what it returned, or the denial if it did not run. If the task throws, `schedule`
 * rejects with that.
 */
export type Scheduled<Value, Name extends string = string> =
  | { readonly ran: true; readonly value: Value; readonly decision: Decision<Name> }
  | { readonly ran: false; readonly decision: Decision<Name> };
