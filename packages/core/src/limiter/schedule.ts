import { HeadgateError, shown } from "../errors.ts";
import type { Decision } from "./decision.ts";
import type { WaitOptions } from "./wait.ts";

/** Options of `schedule`. */
export interface ScheduleOptions extends WaitOptions {
  /**
   * Maximum time in milliseconds that a task may wait for room in the queue and for its turn. If it would take longer,
   * the task does not run. Default: no maximum.
   */
  readonly maxWaitMs?: number | undefined;
  /**
   * What happens to a task when the queue is full: it waits for room (`"wait"`, the default), or does not run
   * (`"drop"`).
   */
  readonly whenFull?: "wait" | "drop" | undefined;
}

/** Whether a task waits for room in the queue. */
export function requireWhenFull(whenFull: unknown = "wait"): boolean {
  if (whenFull === "wait" || whenFull === "drop") return whenFull === "wait";
  throw new HeadgateError("HG_BAD_OPTION", "whenFull", `must be "wait" or "drop", got ${shown(whenFull)}`);
}

export function requireTask(task: unknown): void {
  if (typeof task === "function") return;
  throw new HeadgateError("HG_BAD_OPTION", "task", `must be a function, got ${shown(task)}`);
}

/**
 * The result of `schedule` and `run`: the value of the task, or the denial if it did not run. If the task throws, the
 * promise rejects with its error.
 */
export type Scheduled<Value, Name extends string = string> =
  | { readonly ran: true; readonly value: Value; readonly decision: Decision<Name> }
  | { readonly ran: false; readonly decision: Decision<Name> };
