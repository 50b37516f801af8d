import type { Decision } from "./decision.ts";
import type { WaitOptions } from "./wait.ts";

export interface ScheduleOptions extends WaitOptions {
  /**
   * How long a task may wait in all, for room in the queue and then for its turn.
   * Default: a task that finds the queue full does not run; one that finds room waits its turn.
   */
  readonly maxWaitMs?: number;
}

/** What became of a scheduled task: what it returned, or the denial. If the task throws, `schedule` rejects with that. */
export type Scheduled<Value, Name extends string = string> =
  | { readonly ran: true; readonly value: Value; readonly decision: Decision<Name> }
  | { readonly ran: false; readonly decision: Decision<Name> };
