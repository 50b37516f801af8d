import { describe, expect, it } from "vitest";
import { refusal } from "../../../core/test/refusal.ts";
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
    ["/**/orders", "** may only be the last part"],
    ["/a/**/**", "** may only be the last part"],
    ["/api/", "write each slash once"],
    ["//", "write each slash once"],
    ["/api//orders", "write each slash once"],
    ["/api/../orders", "a part . or .."],
    ["/./orders", "a part . or .."],
    ["/orders?page=1", "a query or a fragment"],
    ["/orders#top", "a query or a fragment"],
    ["/api\\orders", "a backslash"],
    ["/caf%C3%A9", "percent-encoded"],
    ["/a%2fb", "percent-encoded"],
    ["/*.json", "* stands for a whole part"],
    ["/a***", "* stands for a whole part"],
    ["/:", "no name as in :order_id"],
    ["/:a-:b", "no name as in :order_id"],
    ["/:1", "no name as in :order_id"],
    ["/orders/{id}", "write :name"],
    ["/a\u0000", "control characters"],
    [`/${"a".repeat(1024)}`, "at most 1024 characters"],
    [`/${"a/".repeat(32)}a`, "at most 32 parts"],
  ])("%j is refused: %s", (text, advice) => {
    const { field, message } = refusal(() => readPattern(text));
    expect(field).toBe("endpoint_pattern");
    expect(message).toContain(advice);
  });
});
