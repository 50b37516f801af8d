import type { MaybePromise } from "../limiter/maybe-promise.ts";
import { type Answer, type ApplyOptions, limitOf } from "../stores/store.ts";
import { chargedUntil } from "./charged-until.ts";
import type { HeldOperation, JournalRecord } from "./journal-record.ts";

/**
 * How long a hold's take and its end are remembered at most, in microseconds. Who comes later cannot know what
 * another has done, and gives nothing back.
 */
const REMEMBERED = 3_600_000_000;
/** Longer than it can matter, so that a clock that is a little off does no harm. */
const SLACK = 10_000_000;

/** What counts once, whoever asks for it. */
export type Once = Required<Pick<ApplyOptions, "idempotencyKey" | "rememberFor" | "voidFrom" | "storeOnly">>;

/** The take of a hold, if it is asked for again. */
export function takeOnce(id: string, { at, operations }: JournalRecord): Once {
  const until = Math.max(...operations.map((operation) => chargedUntil(limitOf(operation), at)));
  return once(id, until, at, at);
}

/**
 * The end of one of its operations: whoever comes first, with what he makes of it, is the only one. `sureAt` is when
 * it was last known that nobody had ended it.
 */
export function endOnce(id: string, place: number, operation: HeldOperation, at: number, sureAt = at): Once {
  return once(`${id}:${place}`, chargedUntil(limitOf(operation), at), at, sureAt);
}

function once(idempotencyKey: string, until: number, at: number, sureAt: number): Once {
  return {
    idempotencyKey,
    rememberFor: Math.min(until - at, REMEMBERED) + SLACK,
    voidFrom: Math.min(until, sureAt + REMEMBERED),
    storeOnly: true,
  };
}

/** Whether nobody else had ended it before, in another way. */
export async function unlessEnded(end: () => MaybePromise<readonly Answer[]>): Promise<boolean> {
  try {
    await end();
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "HG_IDEMPOTENCY_CONFLICT") return false;
    throw error;
  }
}
