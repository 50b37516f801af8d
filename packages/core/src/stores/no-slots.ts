import { traitsOf } from "../algorithms/lookup.ts";
import { HeadgateError } from "../errors.ts";
import type { Rule } from "./store.ts";

/** For `open` of a store without slots: rejects a rule that limits concurrent tasks. */
export function rejectSlots({ name, limit }: Rule, store: string, instead: string): void {
  if (!traitsOf(limit).releasable) return;
  throw new HeadgateError(
    "HG_BAD_RULES",
    `rules.${name}`,
    `limits concurrent tasks, which ${store} does not support: ${instead}`,
  );
}
