import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { readPattern } from "./pattern.ts";

describe("a pattern", () => {
  it.each([
    ["/", [], false],
    ["/**", [], true],
    ["/*", [null], false],
    ["/api/v1/orders", ["api", "v1", "orders"], false],
    ["/api/:version/orders/*", ["api", null, "orders", null], false],
    ["/api/:_v2/**", ["api", null], true],
    ["/users:batchGet/a.b/100%/über", ["users:batchGet", "a.b", "100%", "über"], false],
    [`/${"a/".repeat(31)}a`, Array(32).fill("a"), false],
  ])("%s is read part by part", (text, parts, open) => {
    expect(readPattern(text)).toEqual({ parts, open });
  });

  it.each([
    ["", "must begin with a slash"],
    ["*", "must begin with a slash"],
    ["api/v1", "must begin with a slash"],
    ["/**/orders", "** is allowed only as the last segment"],
    ["/a/**/**", "** is allowed only as the last segment"],
    ["/api/", "write single slashes"],
    ["//", "write single slashes"],
    ["/api//orders", "write single slashes"],
    ["/api/../orders", "a segment . or .."],
    ["/./orders", "a segment . or .."],
    ["/orders?page=1", "a query or a fragment"],
    ["/orders#top", "a query or a fragment"],
    ["/api\\orders", "a backslash"],
    ["/caf%C3%A9", "percent-encoded"],
    ["/a%2fb", "percent-encoded"],
    ["/*.json", "* matches a whole segment"],
    ["/a***", "* matches a whole segment"],
    ["/:", "not a name such as :order_id"],
    ["/:a-:b", "not a name such as :order_id"],
    ["/:1", "not a name such as :order_id"],
    ["/orders/{id}", "write :name"],
    ["/a\u0000", "control characters"],
    [`/${"a".repeat(1024)}`, "at most 1024 characters"],
    [`/${"a/".repeat(32)}a`, "at most 32 segments"],
  ])("%j is refused: %s", (text, advice) => {
    const { field, message } = refusal(() => readPattern(text));
    expect(field).toBe("endpoint_pattern");
    expect(message).toContain(advice);
  });
});
