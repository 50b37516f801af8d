import { HeadgateError } from "headgate";

/** A parsed endpoint pattern: each part is a text, or null for any part. */
export interface Pattern {
  readonly parts: readonly (string | null)[];
  /** Whether it ends in `**`: any number of parts may follow, including none. */
  readonly open: boolean;
}

const LONGEST = 1024;
/** Without `**`. */
export const MOST_PARTS = 32;

/** Characters that may be mistakes. They are rare, so a hundred thousand patterns are parsed quickly. */
const SUSPECT = /[?#\\%*:{\p{Cc}\p{Cs}]|^\.{0,2}$/u;

/** Segments that would match nothing or something unintended, and what to write instead. */
const MISTAKES: readonly (readonly [RegExp, string])[] = [
  [/^\*\*$/, "** is allowed only as the last segment (use * for one segment)"],
  [/^$/, "has an empty segment: write single slashes, and none at the end"],
  [/^\.\.?$/, "has a segment . or .., which is resolved before matching: remove it"],
  [/[?#]/, "must not have a query or a fragment: paths are matched without them"],
  [/\\/, "must not have a backslash: segments are separated by /"],
  [/%[0-9a-f]{2}/i, "must not be percent-encoded: write the characters themselves"],
  [/\*/, "has a * within a segment: * matches a whole segment"],
  [/^:/, "has a segment that begins with : but is not a name such as :order_id"],
  [/^\{.*\}$/, "has a segment in braces: write :name for any one segment"],
  [/[\p{Cc}\p{Cs}]/u, "must not have control characters or unpaired surrogates"],
];

/** Parses a pattern such as `/api/:version/orders/**`. Throws a HeadgateError. */
export function readPattern(text: string): Pattern {
  if (!text.startsWith("/")) throw rejected("must begin with a slash, such as /api/v1/orders (/** matches every path)");
  if (text.length > LONGEST) throw rejected(`must have at most ${LONGEST} characters`);
  if (text === "/") return { parts: [], open: false };
  const parts = text.slice(1).split("/");
  const open = parts.at(-1) === "**";
  if (open) parts.pop();
  if (parts.length > MOST_PARTS) throw rejected(`must have at most ${MOST_PARTS} segments`);
  return { parts: parts.map(readPart), open };
}

function readPart(part: string): string | null {
  if (!SUSPECT.test(part)) return part;
  if (part === "*" || /^:[a-z_]\w*$/i.test(part)) return null;
  for (const [mistake, advice] of MISTAKES) {
    if (mistake.test(part)) throw rejected(advice);
  }
  return part;
}

function rejected(problem: string): HeadgateError {
  return new HeadgateError("HG_BAD_RULES", "endpoint_pattern", problem);
}
