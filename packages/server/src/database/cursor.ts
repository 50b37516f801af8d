import { HeadgateError } from "headgate";
import { canBeId } from "./text.ts";

/** Where a page ended, as the caller gets it: nothing that he should read, and safe in a URL. */
export function cursorAt(place: string | number): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** The place of a cursor, if it is of the kind that the caller's list is ordered by. */
export function placeOf(cursor: string, kind: "string"): string;
export function placeOf(cursor: string, kind: "number"): number;
export function placeOf(cursor: string, kind: "string" | "number"): unknown {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (typeof place === kind && isPlace(place) && cursorAt(place) === cursor) return place;
  } catch {
    // Told below.
  }
  throw new HeadgateError("HG_BAD_OPTION", "cursor", "must be the one that the page before ended with");
}

function isPlace(place: unknown): place is string | number {
  return typeof place === "string" ? canBeId(place) : Number.isSafeInteger(place);
}
