import * as crypto from "node:crypto";

/** Longer identifiers are hashed: a key of a megabyte would be sent, stored and replicated as a whole. */
const LONGEST = 128;

/** Characters that would change the hash tag, the escape character, and lone surrogates, which UTF-8 cannot encode. */
const SPECIAL = /[%{}\ud800-\udfff]/gu;
const PERCENT = 0x25;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * The identity as it appears between the braces of a Redis key. The braces are the hash tag: everything that belongs to
 * one identity is in one slot. Different identities have different tags, because `%` is always escaped.
 */
export function tagOf(identity: string): string {
  if (identity.length > LONGEST) return `%#${digest(identity)}`;
  // Redis ignores an empty tag.
  if (identity === "") return "%";
  return isPlain(identity) ? identity : escaped(identity);
}

/** Called for every check: a regular expression would cost ten times as much and create garbage. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    if (code === PERCENT || code === OPEN || code === CLOSE || (code >= 0xd800 && code <= 0xdfff)) return false;
  }
  return true;
}

export function escaped(text: string): string {
  return text.replace(SPECIAL, (unit) => {
    const code = unit.charCodeAt(0).toString(16).toUpperCase();
    return code.length > 2 ? `%u${code}` : `%${code}`;
  });
}

/** Printable ASCII, which needs no encoding in the arguments of a script. */
const PRINTABLE = /^[\x20-\x7e]{0,128}$/;

/** A reservation that holds slots, as a member of a sorted set. */
export function holderName(id: string): string {
  return PRINTABLE.test(id) ? `:${id}` : `#${digest(id)}`;
}

/** Hashes the UTF-16 units, so that texts that are equal in UTF-8 stay different. 43 characters. */
export function digest(text: string): string {
  return sha256(Buffer.from(text, "utf16le"));
}

/** Hashes in one call where the runtime can: an object for each hash costs several times as much. */
const sha256: (bytes: Buffer) => string =
  typeof crypto.hash === "function"
    ? (bytes) => crypto.hash("sha256", bytes, "base64url")
    : (bytes) => crypto.createHash("sha256").update(bytes).digest("base64url");
