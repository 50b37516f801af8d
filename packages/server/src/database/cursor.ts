import { HeadgateError } from "headgate";
import { canBeId } from "./storable-text.ts";

/** The end of a page as an opaque, URL-safe cursor. */
export function cursorAt(place: string | number): string {
  return encoded(place);
}

/** The same for a list ordered by a number, then by text. */
export function cursorAtPair(first: number, second: string): string {
  return encoded([first, second]);
}

/** The position in a cursor, if it is of the kind that the list is ordered by. */
export function placeOf(cursor: string, kind: "string"): string;
export function placeOf(cursor: string, kind: "number"): number;
export function placeOf(cursor: string, kind: "string" | "number"): unknown {
  const place = decoded(cursor);
  if (typeof place === kind && isPlace(place)) return place;
  throw badCursor();
}

export function pairOf(cursor: string): readonly [number, string] {
  const place = decoded(cursor);
  if (Array.isArray(place) && place.length === 2) {
    const [first, second]: readonly unknown[] = place;
    if (typeof first === "number" && typeof second === "string" && isPlace(first) && isPlace(second)) {
      return [first, second];
    }
  }
  throw badCursor();
}

function encoded(place: unknown): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

/** Undefined if it is not a valid cursor. */
function decoded(cursor: string): unknown {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return encoded(place) === cursor ? place : undefined;
  } catch {
    return undefined;
  }
}

function badCursor(): HeadgateError {
  return new HeadgateError("HG_BAD_OPTION", "cursor", "must be the value of next on the previous page");
}

function isPlace(place: unknown): place is string | number {
  return typeof place === "string" ? canBeId(place) : Number.isSafeInteger(place);
}
