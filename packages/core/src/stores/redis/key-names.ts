import { createHash } from "node:crypto";

/** Longer identifiers are hashed: a key of a megabyte would be sent, kept and replicated whole. */
const LONGEST = 128;

/** What would move the hash tag, what the escapes are written with, and halves of surrogate pairs, which UTF-8 cannot say. */
const SPECIAL = /[%{}\ud800-\udfff]/gu;
const PERCENT = 0x25;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * The identity as it stands between the braces of a Redis key. The braces are the hash tag: all that belongs to
 * one identity lives in one slot. No two identities give the same text: a `%` of its own is always escaped.
 */
export function tagOf(identity: string): string {
  if (identity.length > LONGEST) return `%#${digest(identity)}`;
  // Redis takes an empty tag for none.
  if (identity === "") return "%";
  return isPlain(identity) ? identity : escaped(identity);
}

/** Every check comes through here: a regular expression costs ten times as much, and keeps the collector busy. */
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

/** Of the UTF-16 units, so that what UTF-8 would make the same stays apart. 43 characters. */
export function digest(text: string): string {
  return createHash("sha256").update(text, "utf16le").digest("base64url");
}
