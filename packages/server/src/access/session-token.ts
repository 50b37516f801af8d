import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";

/** What a session token states. */
export interface SessionClaims {
  /** The API key that the session was started with. */
  readonly keyId: string;
  /** In milliseconds since 1970. */
  readonly expiresAt: number;
}

/** `<key id>.<expiry>.<random>.<signature>`; none of the parts has a dot. */
const FORM = /^([\w-]{1,64})\.([0-9a-z]{1,11})\.[\w-]{22}\.[\w-]{43}$/;

/**
 * A token that proves a session. Nothing about it is stored: any worker or node that knows the API key, and therefore
 * its secret for sessions, can verify it, and none can once the key is revoked.
 */
export function sealSession({ keyId, expiresAt }: SessionClaims, secret: Buffer): string {
  const text = `${keyId}.${Math.floor(expiresAt).toString(36)}.${randomBytes(16).toString("base64url")}`;
  return `${text}.${signature("session", text, secret)}`;
}

/** What a token states, before its signature is verified; undefined if it is not a token. */
export function claimsIn(token: string): SessionClaims | undefined {
  const [, keyId, expiry] = FORM.exec(token) ?? [];
  return keyId === undefined ? undefined : { keyId, expiresAt: Number.parseInt(expiry, 36) };
}

export function isSealedWith(token: string, secret: Buffer): boolean {
  const end = token.lastIndexOf(".");
  return areEqual(token.slice(end + 1), signature("session", token.slice(0, end), secret));
}

/** Scripts of this origin receive it at sign-in and send it with changes. Other sites cannot read it. */
export function csrfTokenOf(token: string, secret: Buffer): string {
  return signature("csrf", token, secret);
}

/** In a time that does not depend on where they differ. */
export function areEqual(given: string, expected: string): boolean {
  const a = Buffer.from(given);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}

function signature(purpose: "session" | "csrf", text: string, secret: Buffer): string {
  return createHmac("sha256", secret).update(`${purpose} ${text}`).digest("base64url");
}
