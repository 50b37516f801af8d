import { describe, expect, it } from "vitest";
import { piecesOf, plainParts, requireReadable } from "./endpoint.ts";

describe("an endpoint that can be read in one way", () => {
  it.each([
    ["", ""],
    ["/", ""],
    ["/api/v1/orders", "api v1 orders"],
    ["api/v1/orders", "api v1 orders"],
    ["/api///v1/orders//", "api v1 orders"],
    ["/api/v1/orders?next=/admin/..%2f;x#y", "api v1 orders"],
    ["/API/v1", "API v1"],
    ["/.well-known/..x/a..b", ".well-known ..x a..b"],
    ["/__proto__/constructor", "__proto__ constructor"],
    ["/headgate.v1.RateLimiter/Check", "headgate.v1.RateLimiter Check"],
  ])("%j has the parts %j", (endpoint, parts) => {
    expect(plainParts(endpoint)?.join(" ")).toBe(parts);
  });

  it.each(["/a/.", "/a/..", "/a.", "/a%20b", "/a\\b", "/a;b", "/a#b", "/a b", "/é", "//a", "http://a/b", "/a\tb"])(
    "%j is not one of them",
    (endpoint) => {
      expect(plainParts(endpoint)).toBeUndefined();
    },
  );

  it("has one part more than any pattern, whatever comes after", () => {
    const most = Array.from({ length: 33 }, (_, i) => `p${i}`);
    expect(plainParts(`/${most.join("/")}/x/y`)).toEqual(most);
  });
});

describe("an endpoint of any length", () => {
  it.each([
    "/a",
    "//",
    "/..",
    "/.",
    "%2f..",
    "%2e/",
    "%",
    "\\",
    ";",
    "/%ff",
    "a%",
    " ",
    "/. . . .x",
    "%2525",
    "http:/",
  ])("is taken apart in time that grows with its length: a megabyte of %j", (piece) => {
    const endpoint = piece.repeat(1_000_000 / piece.length);
    // In time that grew with the square of it, the test would run out of time.
    expect(piecesOf(endpoint).length).toBeGreaterThan(0);
    try {
      requireReadable(endpoint);
    } catch (error) {
      expect(error).toMatchObject({ name: "RequestError", field: "endpoint" });
    }
  });
});
