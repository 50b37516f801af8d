import { holderName } from "./key-names.ts";
import { SLOT } from "./lua-script.ts";
import { type Plan, type Request, scratch, type Times, voidFromOf } from "./script-request.ts";

/** Whether a request takes one slot, or returns what a reservation holds. */
export function isSlotRequest({ action, limits, operations, fingerprint, entry }: Request): boolean {
  if (limits.length > 1 || !limits[0].isReleasable || fingerprint !== "" || entry !== undefined) return false;
  return action === "release" || (action === "take" && operations[0].cost === 1);
}

/** How to ask for slots. slot.lua describes the arguments. */
export function slotPlanOf(requests: readonly Request[], times: Times): Plan {
  const writer = scratch.reset();
  const keys: string[] = [];
  writer.number(times.voidFrom);
  for (const request of requests) {
    const { action, operations, limits } = request;
    const { slot } = operations[0];
    keys.push(request.keys[0]);
    writer.number(action === "release" ? 1 : 0);
    // The number of slots is all that a script reads of such a limit.
    writer.bytes(limits[0].packed);
    writer.number(voidFromOf(request, times));
    writer.number(slot?.forUs ?? 0);
    writer.text(holderName(slot?.id ?? ""));
  }
  return { script: SLOT, keys, packed: Buffer.from(writer.packed) };
}
