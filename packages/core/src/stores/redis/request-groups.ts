import type { Twin } from "./lua-script.ts";
import { isReservation, reservePlanOf } from "./reserve-request.ts";
import { type Plan, planOf, type Request, type Times } from "./script-request.ts";
import { isSlotRequest, slotPlanOf } from "./slot-request.ts";

/** Requests that one call decides, and how to ask for them. */
export interface Group {
  readonly requests: readonly Request[];
  readonly plan: (requests: readonly Request[], times: Times) => Plan;
}

/**
 * Divides a batch: reservations with an entry in the journal, and single slots, are decided by scripts of their own.
 * Reservations are settled before others are made, so that what they return can be taken. All requests of a batch are
 * under way at the same time, so no caller relies on another order.
 */
export function groupsOf(requests: readonly Request[]): readonly Group[] {
  if (requests.every(isOther)) return [{ requests, plan: planOf }];
  if (requests.every(isSlotRequest)) return [{ requests, plan: slotPlanOf }];
  const settled = new Map<Twin, Request[]>();
  const made = new Map<Twin, Request[]>();
  const [slots, others]: Request[][] = [[], []];
  const ids = new Set<string>();
  for (const request of requests) {
    const { entry, limits } = request;
    // A request that is repeated is not decided together with the first one.
    if (entry !== undefined && isReservation(request) && !ids.has(entry.id)) {
      ids.add(entry.id);
      put(entry.step === "add" ? made : settled, limits[0].twin, request);
    } else if (isSlotRequest(request)) slots.push(request);
    else others.push(request);
  }
  const groups: Group[] = [];
  for (const twin of new Set([...settled.keys(), ...made.keys()])) {
    const together = [...(settled.get(twin) ?? []), ...(made.get(twin) ?? [])];
    const { reserve } = twin;
    if (reserve === undefined) others.push(...together);
    else groups.push({ requests: together, plan: (some, times) => reservePlanOf(some, reserve, times) });
  }
  if (slots.length > 0) groups.push({ requests: slots, plan: slotPlanOf });
  if (others.length > 0) groups.push({ requests: others, plan: planOf });
  return groups;
}

function isOther(request: Request): boolean {
  return request.entry === undefined && !request.limits[0].isReleasable;
}

function put(groups: Map<Twin, Request[]>, twin: Twin, request: Request): void {
  const group = groups.get(twin);
  if (group === undefined) groups.set(twin, [request]);
  else group.push(request);
}
