import { RequestError } from "../checks/request-error.ts";

/** Maximum number of slashes in an endpoint, counting every character that any server treats as one. */
export const MOST_ENDPOINT_PARTS = 64;

/**
 * A piece of a path, up to the next character that some server treats as a slash. Servers disagree about its meaning:
 * each field is one more possible interpretation.
 */
export interface Piece {
  readonly whole: Meaning;
  /** Without what follows a `;`, which some servers treat as path parameters. */
  readonly withoutParameters: Meaning | undefined;
  /** If the path ends within the piece: at a `;`, or at a `?` or `#`, encoded or not. */
  readonly cut: Meaning | undefined;
  /** Whether some servers treat the separator after it as text: `%2f`, `\` and so on. */
  readonly mayGoOn: boolean;
  /** Whether the path may start only after it, because it is the scheme or the host of an absolute URL. */
  readonly mayPrecedePath: boolean;
}

/** What the text of a piece may mean, besides itself. */
export interface Meaning {
  /** The decoded text in every form that patterns are compared with. Empty if there is no text. */
  readonly texts: readonly string[];
  /** Whether it may be a step up, as `..` is. */
  readonly isUp: boolean;
  /** Whether it may be nothing at all, as `.` and an empty part are. */
  readonly mayVanish: boolean;
}

/** Rejects an endpoint without a valid interpretation, or with too many parts. Its length was checked before. */
export function requireReadable(endpoint: string): void {
  const path = pathOf(endpoint);
  const decoded = path.includes("%") ? decodedOnce(path) : path;
  if (decoded.includes("\0") || decoded.includes("%00")) {
    throw new RequestError("endpoint", "must not contain a NUL character (%00)");
  }
  let separators = 0;
  for (const _ of decoded.matchAll(SEPARATORS)) {
    separators += 1;
    if (separators > MOST_ENDPOINT_PARTS) {
      throw new RequestError("endpoint", `must have at most ${MOST_ENDPOINT_PARTS} slashes`);
    }
  }
}

const SEPARATORS = /[/\\]|%2f|%5c/gi;

function decodedOnce(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw new RequestError(
      "endpoint",
      "must be a percent-encoded path: each % is followed by two hexadecimal digits, and the bytes are UTF-8 (%25 is a percent sign)",
    );
  }
}

/** The scheme and the slashes before the host of an absolute URL; the scheme is optional. */
const BEFORE_HOST = /^(?:[a-z][a-z\d+.-]*:[/\\]|[/\\]{2})/i;

/**
 * The pieces of an endpoint that servers may interpret in several ways. Linear in its length.
 *
 * All pieces are decoded twice: patterns contain no escapes, so a text that still has some matches only `*`, like the
 * text that it becomes.
 */
export function piecesOf(endpoint: string): readonly Piece[] {
  const path = pathOf(endpoint);
  // Parts that precede the path itself.
  const start = withoutBreaks(path).trimStart();
  let beforePath = BEFORE_HOST.test(start) ? (/^[/\\]/.test(start) ? 1 : 2) : 0;
  let hadEmpty = false;
  const pieces: Piece[] = [];
  for (const segment of path.replace(/^\//, "").split("/")) {
    const texts = decodedTwice(segment).split(/[/\\]/);
    for (const [i, text] of texts.entries()) {
      const mayPrecedePath = beforePath > 0 && withoutBreaks(text) !== "";
      if (mayPrecedePath) beforePath -= 1;
      pieces.push(pieceOf(text, hadEmpty, i < texts.length - 1, mayPrecedePath));
      hadEmpty ||= text === "";
    }
  }
  return pieces;
}

/** Some servers treat a fragment as text; none treats a query as text. */
function pathOf(endpoint: string): string {
  const end = endpoint.indexOf("?");
  return end < 0 ? endpoint : endpoint.slice(0, end);
}

function pieceOf(text: string, hadEmpty: boolean, mayGoOn: boolean, mayPrecedePath: boolean): Piece {
  const parameters = text.indexOf(";");
  const ends = [parameters, text.indexOf("?"), text.indexOf("#")].filter((end) => end >= 0);
  return {
    whole: meaningOf([text], hadEmpty),
    withoutParameters: parameters < 0 ? undefined : meaningOf([text.slice(0, parameters)], hadEmpty),
    cut:
      ends.length === 0
        ? undefined
        : meaningOf(
            ends.map((end) => text.slice(0, end)),
            hadEmpty,
          ),
    mayGoOn,
    mayPrecedePath,
  };
}

function meaningOf(written: readonly string[], hadEmpty: boolean): Meaning {
  const texts = new Set<string>();
  let isUp = false;
  let mayVanish = false;
  for (const text of written) {
    for (const form of new Set([text, withoutBreaks(text)])) {
      const trimmed = withoutTrailing(form);
      for (const each of [form, trimmed]) if (each !== "") texts.add(each);
      if (trimmed !== "") continue;
      if (form.startsWith("..")) isUp = true;
      if (form !== "..") mayVanish = true;
    }
  }
  // For servers that keep empty parts, `..` removes one of those.
  return { texts: [...texts], isUp, mayVanish: mayVanish || (isUp && hadEmpty) };
}

/** URL parsers drop tabs and line breaks. */
function withoutBreaks(text: string): string {
  return /[\t\n\r]/.test(text) ? text.replace(/[\t\n\r]/g, "") : text;
}

/** Without dots, spaces and control characters at the end. A regular expression could take quadratic time. */
function withoutTrailing(text: string): string {
  let end = text.length;
  while (end > 0 && (text.charCodeAt(end - 1) <= 0x20 || /[.\s\p{Cc}]/u.test(text[end - 1]))) end -= 1;
  return end === text.length ? text : text.slice(0, end);
}

const ESCAPES = /(?:%[0-9a-f]{2})+/gi;

/** The second pass leaves the rest as text: `%25` is a percent sign. */
function decodedTwice(segment: string): string {
  return segment.includes("%") ? decodedLeniently(decodedLeniently(segment)) : segment;
}

function decodedLeniently(text: string): string {
  return text.replace(ESCAPES, (escapes) => {
    const code = escapes.length === 3 ? Number.parseInt(escapes.slice(1), 16) : 128;
    // A buffer would take longer than everything else, and a single ASCII character needs none.
    return code < 128 ? String.fromCharCode(code) : Buffer.from(escapes.replaceAll("%", ""), "hex").toString("utf8");
  });
}
