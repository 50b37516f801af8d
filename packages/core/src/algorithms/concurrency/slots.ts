import type { Limit } from "../../limits/limit.ts";
import type { SlotHolder } from "../../stores/store.ts";
import type { Outcome, SlotAlgorithm } from "../algorithm.ts";
import type { LeaseSet } from "./lease-set.ts";

/** The transitions on the leases of a key. concurrency.lua does the same. */
export const slots: SlotAlgorithm = {
  luaFields: ["limit"],

  evaluateSlots: evaluate,

  takeSlots(leases, cost, holder, out) {
    if (cost > leases.slotsOf(holder.id)) lease(leases, cost, holder, out.time);
  },

  extendSlots(limit, leases, now, cost, holder, out) {
    const held = heldBy(leases, holder, now);
    evaluate(limit, leases, now, held > 0 ? held : cost, holder, out);
    if (out.allowed && cost > 0) lease(leases, held > 0 ? held : cost, holder, out.time);
  },

  releaseSlots(leases, now, { id, forUs }) {
    const time = Math.max(now, leases.latest);
    leases.expire(time);
    leases.release(id, Math.max(leases.endOf(id), leases.releasedUntil(id), time + forUs), time);
  },
};

function evaluate(
  { limit }: Limit,
  leases: LeaseSet,
  now: number,
  cost: number,
  holder: SlotHolder | undefined,
  out: Outcome,
): void {
  const time = Math.max(now, leases.latest);
  leases.expire(time);
  const held = holder === undefined ? 0 : leases.slotsOf(holder.id);
  const isReleased = holder !== undefined && leases.releasedUntil(holder.id) > time;
  const missing = cost > held ? cost - held : 0;
  const { inUse } = leases;
  out.time = time;
  out.allowed = missing === 0 || (!isReleased && inUse + missing <= limit);
  out.level = out.allowed ? inUse + missing : inUse;
  out.remaining = out.level < limit ? limit - out.level : 0;
  out.retryAfter = 0;
  if (!out.allowed) {
    const neverFits = isReleased || cost > limit;
    out.retryAfter = neverFits ? Number.POSITIVE_INFINITY : leases.whenFree(inUse + missing - limit, holder?.id) - now;
  }
  let last = leases.lastEnd;
  if (holder !== undefined && out.allowed && missing > 0) last = Math.max(last, time + holder.forUs);
  out.resetAfter = last > time ? last - now : 0;
}

function heldBy(leases: LeaseSet, { id }: SlotHolder, now: number): number {
  leases.expire(Math.max(now, leases.latest));
  return leases.slotsOf(id);
}

/** Lets a reservation hold slots for its time from now on, or until its lease ends if that is later. */
function lease(leases: LeaseSet, slots: number, { id, forUs }: SlotHolder, time: number): void {
  leases.hold(id, slots, Math.max(leases.endOf(id), time + forUs), time);
}
