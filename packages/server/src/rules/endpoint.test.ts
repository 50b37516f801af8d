import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readings } from "./endpoint.ts";

const written = (endpoint: string) => readings(endpoint).map((parts) => parts.join(" "));

describe("an endpoint", () => {
  it.each([
    ["", ""],
    ["/", ""],
    ["/api/v1/orders", "api v1 orders"],
    ["api/v1/orders", "api v1 orders"],
    ["//api///v1/orders//", "api v1 orders"],
    ["/api/v1/orders?next=/admin/..%2f", "api v1 orders"],
    ["/api/v1#/../x", "api v1"],
    ["/API/v1", "API v1"],
    ["/caf%C3%A9/a%20b", "café a b"],
    ["/%61pi/%2561", "api %61"],
    ["/100%/%zz/%ff%C3/%c3%A9%", "100% %zz \ufffd\ufffd é%"],
    ["/.well-known/..x/a..", ".well-known ..x a.."],
    ["/__proto__/constructor", "__proto__ constructor"],
  ])("%j is read in one way: %j", (endpoint, parts) => {
    expect(written(endpoint)).toEqual([parts]);
  });

  it.each([
    ["/api/./orders", ["api . orders", "api orders", "api orders"]],
    ["/api/v2/../v1", ["api v2 .. v1", "api v1", "api v1"]],
    ["/api/%2e%2E/x", ["api .. x", "x", "x"]],
    ["/../../x", [".. .. x", "x", "x"]],
    ["/login//..", ["login ..", "login", ""]],
    ["/a/b/%2e./.%2e/%2E/x", ["a b .. .. . x", "x", "x"]],
    ["/a/.?b", ["a .", "a", "a"]],
    ["/..", ["..", "", ""]],
    ["/projects/group%2Fname", ["projects group/name", "projects group/name", "projects group name"]],
    ["/a/..%2fb", ["a ../b", "a ../b", "b"]],
    ["/a/%2e%2e%2Fb%ff", ["a ../b\ufffd", "a ../b\ufffd", "b\ufffd"]],
    ["/a\\..\\b", ["a\\..\\b", "b", "b"]],
    ["/a/x%5c..%5c..%5cb", ["a x\\..\\..\\b", "a x\\..\\..\\b", "b"]],
    ["/a/../b%2fc", ["a .. b/c", "b/c", "b c"]],
  ])("%j is read in every way that a server may read it", (endpoint, ways) => {
    expect(written(endpoint)).toEqual(ways);
  });

  it("keeps one part more than any pattern has, whatever comes after", () => {
    const most = Array.from({ length: 33 }, (_, i) => `p${i}`);
    expect(readings(`/${most.join("/")}`)).toEqual([most]);
    expect(readings(`/${most.join("/")}/x/y`)).toEqual([most]);
    expect(readings(`/${most.join("/")}/%78/%2e%2e/y`)[1]).toEqual(most);
    expect(readings(`/${most.join("/")}/x/../../../q`)[1]).toEqual([...most.slice(0, 31), "q"]);
    expect(readings(`/${most.join("/")}/x${"/..".repeat(34)}/q`)[1]).toEqual(["q"]);
  });

  it("is resolved as URLs are", () => {
    const part = fc.constantFrom("a", "b", "", "", ".", "..", "..", "%2e", "%2E.");
    const slash = fc.constantFrom("/", "/", "\\");
    fc.assert(
      fc.property(fc.array(fc.tuple(slash, part), { minLength: 1, maxLength: 12 }), (steps) => {
        const path = steps.flat().join("");
        // With a host before it, since two slashes at the beginning would be taken for one.
        const { pathname } = new URL(`http://host${path}`);
        const [asItStands, resolved = asItStands] = readings(path);
        expect(resolved).toEqual(
          decodeURIComponent(pathname)
            .split("/")
            .filter((part) => part !== ""),
        );
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(["/a", "//", "/..", "/.", "%2f..", "%2e/", "%", "\\", "?", "/%ff", "a%", "/%2e%2e/x"])(
    "is read in time that grows with its length: a megabyte of %s",
    (piece) => {
      // In time that grew with the square of it, the test would run out of time.
      expect(readings(piece.repeat(1_000_000 / piece.length)).length).toBeGreaterThan(0);
    },
  );
});
