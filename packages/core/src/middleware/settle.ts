import { HeadgateError } from "../errors.ts";
import { requireCost } from "../limiter/check-options.ts";

/** Puts a real cost in the place of what was reserved. */
export type Settle = (cost: number) => Promise<void>;

/** How to settle what the gates that a request has come through reserved for it. */
const reserved = new WeakMap<object, Settle>();

/** For a gate that reserves nothing itself: a handler behind it means what those before it reserved. */
export function settleEarlier(request: object): Settle {
  return reserved.get(request) ?? nothingReserved;
}

/** Settles what a gate has reserved, and what those before it have. */
export function settleWithEarlier(request: object, own: Settle): Settle {
  const earlier = reserved.get(request);
  const settle = earlier === undefined ? own : both(earlier, own);
  reserved.set(request, settle);
  return settle;
}

/** When a request has ended: if the same object comes again, it is another request. */
export function forgetReserved(request: object): void {
  reserved.delete(request);
}

/** Where a gate reserves, but took nothing: the request was skipped, or the store failed, which is no mistake of a handler. */
export async function settleNothing(cost: number): Promise<void> {
  requireCost(cost);
}

/** A handler that got no error here would believe that it had charged. */
async function nothingReserved(): Promise<void> {
  throw new HeadgateError(
    "HG_NOT_RESERVED",
    "settle",
    "nothing was reserved for this request: use reserve in the middleware, as in { rules: { rule, reserve: 100 } }",
  );
}

function both(earlier: Settle, own: Settle): Settle {
  return async (cost) => {
    await Promise.all([earlier(cost), own(cost)]);
  };
}
