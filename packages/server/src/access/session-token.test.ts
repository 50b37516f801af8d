import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { areEqual, claimsIn, csrfTokenOf, isSealedWith, sealSession } from "./session-token.ts";

const SECRET = randomBytes(32);
const CLAIMS = { keyId: "0123456789abcdef", expiresAt: Date.parse("2026-05-01T12:00:00Z") };

describe("a session token", () => {
  it("states its key and when it expires", () => {
    const token = sealSession(CLAIMS, SECRET);
    expect(claimsIn(token)).toEqual(CLAIMS);
    expect(isSealedWith(token, SECRET)).toBe(true);
    expect(sealSession(CLAIMS, SECRET)).not.toBe(token);
  });

  it("is void if any part of it is changed, or if it was sealed with another secret", () => {
    const token = sealSession(CLAIMS, SECRET);
    const parts = token.split(".");
    for (const [i, part] of parts.entries()) {
      const last = part.endsWith("1") ? "2" : "1";
      const changed = parts.with(i, `${part.slice(0, -1)}${last}`).join(".");
      expect([changed, isSealedWith(changed, SECRET)]).toEqual([changed, false]);
    }
    expect(isSealedWith(token, randomBytes(32))).toBe(false);
  });

  it.each(["", "a", "a.b.c.d", "..", `${"x".repeat(70)}.1.${"a".repeat(22)}.${"a".repeat(43)}`])(
    "is not read from %j",
    (text) => expect(claimsIn(text)).toBeUndefined(),
  );

  it("has a CSRF token of its own, which does not prove a session", () => {
    const token = sealSession(CLAIMS, SECRET);
    const csrf = csrfTokenOf(token, SECRET);
    expect(csrfTokenOf(sealSession(CLAIMS, SECRET), SECRET)).not.toBe(csrf);
    expect(token).not.toContain(csrf);
    expect(areEqual(csrf, csrfTokenOf(token, SECRET))).toBe(true);
    expect(areEqual("", csrf)).toBe(false);
  });
});
