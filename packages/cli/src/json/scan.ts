import { JsonFault, unexpected } from "./fault.ts";

/**
 * A strict JSON scanner that finds the end of a value without building it. `JSON.parse` needs the whole text, and the
 * wording of its error positions depends on the version of Node.
 */

/** The text ended inside a value, without an error so far. */
export const INCOMPLETE = -1;

/** Maximum nesting depth. The scanner is recursive and must not overflow the stack. */
const DEEPEST = 500;

const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

/** End of the value that starts at `at`, or INCOMPLETE. `at` must not be white space. */
export function endOfValue(text: string, at: number, depth = 0): number {
  if (at >= text.length) return INCOMPLETE;
  const first = text.charCodeAt(at);
  if (first === QUOTE) return endOfString(text, at);
  if (first === MINUS || isDigit(first)) return endOfNumber(text, at);
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) {
    if (depth === DEEPEST) throw new JsonFault(at, `nested deeper than ${DEEPEST} levels`);
    return first === OPEN_OBJECT ? endOfObject(text, at, depth + 1) : endOfArray(text, at, depth + 1);
  }
  for (const word of ["true", "false", "null"]) if (word.charCodeAt(0) === first) return endOfWord(text, at, word);
  throw unexpected(text, at, "a value");
}

/** End of the string that starts at `at`, or INCOMPLETE. */
export function endOfString(text: string, at: number, expected = "a string"): number {
  if (at >= text.length) return INCOMPLETE;
  if (text.charCodeAt(at) !== QUOTE) throw unexpected(text, at, expected);
  for (let i = at + 1; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) return i + 1;
    if (code < SPACE) throw unexpected(text, i, "the string to be closed");
    if (code === BACKSLASH) {
      const end = endOfEscape(text, i);
      if (end === INCOMPLETE) return INCOMPLETE;
      i = end - 1;
    }
  }
  return INCOMPLETE;
}

/** The first position from `at` on that is not white space, or the length of the text. */
export function skipSpace(text: string, at: number): number {
  let i = at;
  for (; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code !== SPACE && code !== 0x0a && code !== 0x0d && code !== 0x09) break;
  }
  return i;
}

function endOfEscape(text: string, at: number): number {
  if (at + 1 >= text.length) return INCOMPLETE;
  const kind = text[at + 1];
  if (kind !== "u") {
    if ('"\\/bfnrt'.includes(kind)) return at + 2;
    throw unexpected(text, at + 1, "an escape like \\n");
  }
  for (let i = at + 2; i < at + 6; i += 1) {
    if (i >= text.length) return INCOMPLETE;
    if (!/[0-9a-fA-F]/.test(text[i])) throw unexpected(text, i, "four hexadecimal digits after \\u");
  }
  return at + 6;
}

// A number at the end of the text may continue in the next chunk.
function endOfNumber(text: string, at: number): number {
  let i = text.charCodeAt(at) === MINUS ? at + 1 : at;
  i = text.charCodeAt(i) === ZERO ? i + 1 : endOfDigits(text, i);
  if (i !== INCOMPLETE && text.charCodeAt(i) === POINT) i = endOfDigits(text, i + 1);
  if (i !== INCOMPLETE && (text[i] === "e" || text[i] === "E")) {
    const sign = text.charCodeAt(i + 1);
    i = endOfDigits(text, sign === PLUS || sign === MINUS ? i + 2 : i + 1);
  }
  return i < text.length ? i : INCOMPLETE;
}

/** One or more digits. */
function endOfDigits(text: string, at: number): number {
  let i = at;
  while (isDigit(text.charCodeAt(i))) i += 1;
  if (i >= text.length) return INCOMPLETE;
  if (i === at) throw unexpected(text, at, "a digit");
  return i;
}

function endOfWord(text: string, at: number, word: string): number {
  for (let i = 1; i < word.length; i += 1) {
    if (at + i >= text.length) return INCOMPLETE;
    if (text[at + i] !== word[i]) throw unexpected(text, at + i, word);
  }
  return at + word.length;
}

function endOfArray(text: string, start: number, depth: number): number {
  let at = skipSpace(text, start + 1);
  if (text.charCodeAt(at) === CLOSE_ARRAY) return at + 1;
  for (;;) {
    at = endOfValue(text, at, depth);
    if (at === INCOMPLETE) return INCOMPLETE;
    at = skipSpace(text, at);
    if (at >= text.length) return INCOMPLETE;
    const code = text.charCodeAt(at);
    if (code === CLOSE_ARRAY) return at + 1;
    if (code !== COMMA) throw unexpected(text, at, `"," or "]"`);
    at = skipSpace(text, at + 1);
  }
}

function endOfObject(text: string, start: number, depth: number): number {
  let at = skipSpace(text, start + 1);
  if (text.charCodeAt(at) === CLOSE_OBJECT) return at + 1;
  let expected = `a name in quotes or "}"`;
  for (;;) {
    at = endOfString(text, at, expected);
    if (at === INCOMPLETE) return INCOMPLETE;
    at = skipSpace(text, at);
    if (at >= text.length) return INCOMPLETE;
    if (text.charCodeAt(at) !== COLON) throw unexpected(text, at, `":"`);
    at = endOfValue(text, skipSpace(text, at + 1), depth);
    if (at === INCOMPLETE) return INCOMPLETE;
    at = skipSpace(text, at);
    if (at >= text.length) return INCOMPLETE;
    const code = text.charCodeAt(at);
    if (code === CLOSE_OBJECT) return at + 1;
    if (code !== COMMA) throw unexpected(text, at, `"," or "}"`);
    at = skipSpace(text, at + 1);
    expected = "a name in quotes";
  }
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}
