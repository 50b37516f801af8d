import { HeadgateError } from "../errors.ts";
import { requireCost } from "../limiter/check-options.ts";

/** Replaces a reserved cost by the actual one. */
export type Settle = (cost: number) => Promise<void>;

/** How to settle the reservations made by the middleware that a request has passed. */
const reserved = new WeakMap<object, Settle>();

/** For middleware without a reservation: settles those of earlier middleware. */
export function settleEarlier(request: object): Settle {
  return reserved.get(request) ?? nothingReserved;
}

/** Settles the reservation of this middleware and those of earlier ones. */
export function settleWithEarlier(request: object, own: Settle): Settle {
  const earlier = reserved.get(request);
  const settle = earlier === undefined ? own : both(earlier, own);
  reserved.set(request, settle);
  return settle;
}

/** Called when a request has ended: if the same object is used again, it is another request. */
export function forgetReserved(request: object): void {
  reserved.delete(request);
}

/** For middleware that reserves but took nothing, because the request was skipped or the store failed. */
export async function settleNothing(cost: number): Promise<void> {
  requireCost(cost);
}

/** Throws, because the handler would otherwise believe that it had charged. */
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
