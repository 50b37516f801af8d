import { traitsOf } from "../algorithms/lookup.ts";
import { HeadgateError } from "../errors.ts";
import type { Rule } from "../stores/store.ts";

/** Rejects a request under a concurrency limit that does not say which reservation holds the slots. */
export function requireRate({ name, limit }: Rule): void {
  if (traitsOf(limit).releasable) throw needsSlot(name);
}

export function needsSlot(name: string): HeadgateError {
  return new HeadgateError(
    "HG_NEEDS_SLOT",
    "rule",
    `${name} limits concurrent tasks, whose slots have to be released: use reserve or run`,
  );
}
