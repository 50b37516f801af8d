import { traitsOf } from "../algorithms/lookup.ts";
import { HeadgateError } from "../errors.ts";
import { needsSlot } from "../limiter/needs-slot.ts";
import { type Action, type Answer, limitOf, type Operation } from "./store.ts";

/** What an action can be done with: slots, units that come back with time, or both. */
const NEEDED: Readonly<Record<Action, "slot" | "rate" | "any">> = {
  take: "any",
  peek: "any",
  reset: "any",
  takeFirst: "rate",
  charge: "rate",
  penalize: "rate",
  refund: "rate",
  settle: "rate",
  extend: "slot",
  release: "slot",
};

/** Rejects an action that is not possible under the limit of an operation, or that lacks the holder of the slots. */
export function requireSlots(action: Action, { rule, slot, limit = rule.limit }: Operation): void {
  const needed = NEEDED[action];
  if (traitsOf(limit).releasable) {
    if (needed === "rate" || (slot === undefined && action !== "peek" && action !== "reset"))
      throw needsSlot(rule.name);
  } else if (needed === "slot") {
    throw new HeadgateError(
      "HG_NEEDS_SLOT",
      "rule",
      `${rule.name} does not limit concurrent tasks, so there is nothing to ${action}: use refund to return units`,
    );
  }
}

/** Whether an operation is about slots. */
export function hasSlots(operation: Operation): boolean {
  return traitsOf(limitOf(operation)).releasable === true;
}

/** An answer under a releasable limit. */
export function slotAnswer(answer: Answer, inUse: number): Answer {
  const { allowed, retryAfter } = answer;
  return !allowed && Number.isFinite(retryAfter) ? { ...answer, inUse, retryIsUpperBound: true } : { ...answer, inUse };
}
