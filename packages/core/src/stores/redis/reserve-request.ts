import type { Script } from "./lua-script.ts";
import {
  hasRepeatedKeys,
  journalPartsOf,
  NOTHING,
  type Plan,
  type PlannedLimit,
  packedNow,
  type Request,
  scratch,
  type Times,
  voidFromOf,
} from "./script-request.ts";

/** Whether a request adds a reservation to the journal, or ends one, under one limit that has a script for this. */
export function isReservation({ action, limits, fingerprint, entry }: Request): boolean {
  if (entry === undefined || limits.length > 1 || limits[0].twin.take === undefined) return false;
  return entry.step === "add" ? action === "take" && fingerprint === "" : action === "settle" && fingerprint !== "";
}

/**
 * How to ask for reservations of one algorithm: those to settle come first. reserve.lua describes the arguments.
 */
export function reservePlanOf(requests: readonly Request[], script: Script, times: Times): Plan {
  const parts = journalPartsOf(requests);
  const keys: string[] = [];
  for (const request of requests) keys.push(request.keys[0]);
  for (const request of requests) keys.push(request.keys[1]);
  for (const part of parts) keys.push(...part);
  const firstMade = requests.findIndex(({ entry }) => entry?.step === "add");
  const settled = firstMade < 0 ? requests.length : firstMade;
  const writer = scratch.reset();
  writer.number(times.voidFrom);
  writer.number(settled);
  writer.number(requests.length - settled);
  writer.number(hasRepeatedKeys(requests) ? 1 : 0);
  const limits = new Map<PlannedLimit, number>();
  let end = HEAD + 1;
  const packedLimits: Buffer[] = [];
  for (const {
    limits: [limit],
  } of requests) {
    if (limits.has(limit)) continue;
    limits.set(limit, end);
    const packed = packedNow(limit, times);
    packedLimits.push(packed);
    end += packed.length;
  }
  writer.number(end);
  for (const packed of packedLimits) writer.bytes(packed);
  for (let i = 0; i < requests.length; i += 1) {
    // Those to make come first, because their entries are written before anything else.
    const request = requests[(i + settled) % requests.length];
    const { entry, journalKeys, operations } = request;
    if (entry === undefined || journalKeys === undefined) throw new Error("a request without an entry");
    const { cost, reserved = NOTHING } = operations[0];
    writer.number(limits.get(request.limits[0]) ?? 0);
    writer.number(voidFromOf(request, times));
    writer.number(entry.step === "add" ? cost : cost - reserved.cost);
    // After two keys of each request, counted from one, three of each part.
    writer.number(2 * requests.length + 3 * parts.indexOf(journalKeys) + 1);
    if (entry.step === "add") {
      writer.number(entry.forMs);
      writer.sized(entry.id);
      writer.sized(entry.text);
    } else {
      writer.number(reserved.until);
      writer.number(request.rememberFor);
      writer.ascii(request.fingerprint);
      writer.sized(entry.id);
    }
  }
  return { script, keys, packed: Buffer.from(writer.packed) };
}

/** Five numbers are before the limits. */
const HEAD = 5 * 8;
