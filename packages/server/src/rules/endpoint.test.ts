import { describe, expect, it } from "vitest";
import { piecesOf, requireReadable } from "./endpoint.ts";

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
