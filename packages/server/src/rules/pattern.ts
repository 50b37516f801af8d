import { HeadgateError } from "headgate";

/** An endpoint pattern, taken apart: each part is a text, or null for any one part. */
export interface Pattern {
  readonly parts: readonly (string | null)[];
  /** Whether it ends in `**`: any number of parts may follow, also none. */
  readonly open: boolean;
}

const LONGEST = 1024;
/** `**` not counted. */
export const MOST_PARTS = 32;

/** Nearly no part has any of it, and a hundred thousand patterns are read at a time. */
const SUSPECT = /[?#\\%*:{\p{Cc}\p{Cs}]|^\.{0,2}$/u;

/** What would match nothing, or not what its writer meant, and what he should write instead. */
const MISTAKES: readonly (readonly [RegExp, string])[] = [
  [/^\*\*$/, "** may only be the last part (* stands for one part)"],
  [/^$/, "has an empty part: write each slash once, and none at the end"],
  [/^\.\.?$/, "has a part . or .., which no endpoint keeps: leave it out"],
  [/[?#]/, "must not have a query or a fragment: endpoints are compared without them"],
  [/\\/, "must not have a backslash: parts are separated by /"],
  [/%[0-9a-f]{2}/i, "must not be percent-encoded: write the characters themselves"],
  [/\*/, "has a part with a * among other characters: * stands for a whole part"],
  [/^:/, "has a part that begins with : and is no name as in :order_id"],
  [/^\{.*\}$/, "has a part in braces: write :name for any one part"],
  [/[\p{Cc}\p{Cs}]/u, "must not have control characters, or halves of surrogate pairs"],
];

/** Reads `/api/:version/orders/**`; what it refuses, it refuses with a HeadgateError. */
export function readPattern(text: string): Pattern {
  if (!text.startsWith("/")) throw refused("must begin with a slash, as in /api/v1/orders (/** is every endpoint)");
  if (text.length > LONGEST) throw refused(`must have at most ${LONGEST} characters`);
  if (text === "/") return { parts: [], open: false };
  const parts = text.slice(1).split("/");
  const open = parts.at(-1) === "**";
  if (open) parts.pop();
  if (parts.length > MOST_PARTS) throw refused(`must have at most ${MOST_PARTS} parts`);
  return { parts: parts.map(readPart), open };
}

function readPart(part: string): string | null {
  if (!SUSPECT.test(part)) return part;
  if (part === "*" || /^:[a-z_]\w*$/i.test(part)) return null;
  for (const [mistake, advice] of MISTAKES) {
    if (mistake.test(part)) throw refused(advice);
  }
  return part;
}

function refused(problem: string): HeadgateError {
  return new HeadgateError("HG_BAD_RULES", "endpoint_pattern", problem);
}
