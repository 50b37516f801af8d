import { MOST_PARTS } from "./pattern.ts";

/** What a server may take for a slash besides the slash itself. */
const OTHER_SLASHES = /%2f|%5c|\\/gi;
/** A part that is `.` or `..`, encoded or not. */
const DOTS = /^(?:\.|%2e){1,2}$/i;
const DOTS_WITHIN = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;
const ESCAPES = /(?:%[0-9a-f]{2})+/gi;

/** No pattern looks at more parts: what comes after them is counted by patterns that end in `**` alone. */
const ENOUGH = MOST_PARTS + 1;

/**
 * The parts of an endpoint, as many as matter, in every way that a server may read it; nearly always there is one.
 * A request is counted under all of them, so that no way to write a path leads past its limits:
 *
 * - as it stands, with `..` and encoded slashes as text;
 * - as URLs are resolved: `.` and `..` are carried out, an encoded slash is text, a backslash is a slash;
 * - as servers read it that decode first: all kinds of slashes are one, several together too, before `..` is carried out.
 *
 * Query and fragment are cut; empty parts are left out; each part is percent-decoded once. Linear in the length.
 */
export function readings(endpoint: string): readonly (readonly string[])[] {
  const plain = plainParts(endpoint);
  if (plain !== undefined) return [plain];
  const path = withoutQuery(endpoint).replace(/^\//, "");
  const asItStands = decodedParts(path.split("/"));
  if (path.search(OTHER_SLASHES) < 0 && !DOTS_WITHIN.test(path)) return [asItStands];
  const asUrl = resolve(path.replaceAll("\\", "/").split("/"));
  const decodedFirst = resolve(path.replace(OTHER_SLASHES, "/").split("/").filter(isThere));
  return [asItStands, decodedParts(asUrl), decodedParts(decodedFirst)];
}

const [SLASH, QUERY, FRAGMENT, PERCENT, BACKSLASH, DOT] = [0x2f, 0x3f, 0x23, 0x25, 0x5c, 0x2e];

/** The parts if there is one way to read them. Nearly every check comes through here, and through nothing else. */
function plainParts(endpoint: string): string[] | undefined {
  const parts: string[] = [];
  let start = 0;
  for (let i = 0; ; i += 1) {
    const code = i < endpoint.length ? endpoint.charCodeAt(i) : FRAGMENT;
    const isEnd = code === FRAGMENT || code === QUERY;
    if (isEnd || code === SLASH) {
      // It begins and ends with a dot, and is no longer than two characters.
      if (i - start <= 2 && endpoint.charCodeAt(start) === DOT && endpoint.charCodeAt(i - 1) === DOT) return undefined;
      if (i > start && parts.length < ENOUGH) parts.push(endpoint.slice(start, i));
      if (isEnd) return parts;
      start = i + 1;
    } else if (code === PERCENT || code === BACKSLASH) return undefined;
  }
}

function withoutQuery(endpoint: string): string {
  const end = endpoint.search(/[?#]/);
  return end < 0 ? endpoint : endpoint.slice(0, end);
}

/** Above the root there is only the root. */
function resolve(parts: readonly string[]): string[] {
  const resolved: string[] = [];
  for (const part of parts) {
    if (!DOTS.test(part)) resolved.push(part);
    else if (decoded(part) === "..") resolved.pop();
  }
  return resolved;
}

function isThere(part: string): boolean {
  return part !== "";
}

function decodedParts(parts: readonly string[]): string[] {
  return parts.filter(isThere).slice(0, ENOUGH).map(decoded);
}

/** Unlike decodeURIComponent it never throws, which would cost more than all the rest: what is no UTF-8 becomes �. */
function decoded(part: string): string {
  return part.replace(ESCAPES, (escapes) => Buffer.from(escapes.replaceAll("%", ""), "hex").toString("utf8"));
}
