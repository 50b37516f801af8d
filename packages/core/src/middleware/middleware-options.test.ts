import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { type TestRequest, testAdapter } from "../../test/middleware/request.ts";
import { rules } from "../../test/middleware/test-middleware.ts";
import { testLimiter } from "../testing/index.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import type { MiddlewareOptions } from "./middleware-options.ts";

function refusalOf(options: unknown, more?: readonly string[]): { code: string; field: string; message: string } {
  const { limiter } = testLimiter(rules);
  return refusal(
    () =>
      new RateLimitMiddleware(
        limiter,
        options as MiddlewareOptions<keyof typeof rules, TestRequest>,
        testAdapter,
        more,
      ),
  );
}

describe("the options of a gate are refused at the start", () => {
  it("if a rule does not exist", () => {
    expect(refusalOf({ rules: "apy" })).toMatchObject({ code: "HG_UNKNOWN_RULE", field: "rule" });
    expect(refusalOf({ rules: ["api", { rule: "dya" }] }).message).toContain('"dya"');
  });

  it.each([
    [{}, "HG_BAD_OPTION", "rules"],
    [{ rules: [] }, "HG_BAD_OPTION", "rules"],
    [{ rules: 7 }, "HG_BAD_OPTION", "rules"],
    [{ rules: ["api", 7] }, "HG_BAD_OPTION", "rules[1]"],
    [{ rules: ["api", "day", "api"] }, "HG_BAD_OPTION", "rules[2]"],
    [{ rules: { rule: "api", costs: 1 } }, "HG_BAD_OPTION", "rules.costs"],
    [{ rules: [{ rule: "api", cost: 1, reserve: 2 }] }, "HG_BAD_OPTION", "rules[0].reserve"],
    [{ rules: "api", rule: "api" }, "HG_BAD_OPTION", "options.rule"],
    [{ rules: "api", cost: -1 }, "HG_BAD_COST", "cost"],
    [{ rules: { rule: "api", reserve: 1.5 } }, "HG_BAD_COST", "reserve"],
    [{ rules: "api", cost: 3 }, "HG_BAD_OPTION", "cost"],
    [{ rules: ["day", "api"], cost: 10 }, "HG_BAD_OPTION", "cost"],
    [{ rules: ["day", { rule: "burst", cost: 6 }] }, "HG_BAD_OPTION", "cost"],
    [{ rules: { rule: "day", reserve: 11 } }, "HG_BAD_OPTION", "reserve"],
    [{ rules: { rule: "day", reserve: 2 ** 53 } }, "HG_BAD_COST", "reserve"],
    [{ rules: "api", by: "IP" }, "HG_BAD_OPTION", "by"],
    [{ rules: "api", by: null }, "HG_BAD_OPTION", "by"],
    [{ rules: "api", by: { header: "x y" } }, "HG_BAD_OPTION", "by.header"],
    [{ rules: "api", by: { header: 7 } }, "HG_BAD_OPTION", "by.header"],
    [{ rules: "api", by: {} }, "HG_BAD_OPTION", "by"],
    [{ rules: "api", by: { header: "x", name: "y" } }, "HG_BAD_OPTION", "by.name"],
    [{ rules: "api", skip: true }, "HG_BAD_OPTION", "skip"],
    [{ rules: "api", headers: "draft-5" }, "HG_BAD_OPTION", "headers"],
    [{ rules: "api", warn: { above: 2 } }, "HG_BAD_OPTION", "warn.above"],
    [{ rules: "api", refundOn: "6xx" }, "HG_BAD_OPTION", "refundOn"],
    [{ rules: "api", refundOn: [404, 9] }, "HG_BAD_OPTION", "refundOn"],
    [{ rules: "api", onStoreFailure: "open" }, "HG_BAD_OPTION", "onStoreFailure"],
    [{ rules: "api", onNotice: "log" }, "HG_BAD_OPTION", "onNotice"],
    [{ rules: "api", proxies: true }, "HG_BAD_OPTION", "proxies"],
    [{ rules: "api", clock: {} }, "HG_BAD_OPTION", "clock"],
    [7, "HG_BAD_OPTION", "options"],
    [null, "HG_BAD_OPTION", "options"],
    ["apy", "HG_UNKNOWN_RULE", "rule"],
    [["api", "api"], "HG_BAD_OPTION", "rules[1]"],
  ])("if they are %j", (options, code, field) => {
    expect(refusalOf(options)).toMatchObject({ code, field });
  });

  it("if no request could pass, which the message says", () => {
    expect(refusalOf({ rules: { rule: "burst", cost: 6 } }).message).toBe(
      'cost: must be at most 5, which is all that the rule "burst" holds, got 6: no request would pass',
    );
    expect(() => refusalOf({ rules: { rule: "burst", cost: 5 } })).toThrow("was not refused");
    expect(() => refusalOf({ rules: [{ rule: "burst", reserve: 5 }, "day"], cost: 10 })).toThrow("was not refused");
    expect(() => refusalOf({ rules: "burst", cost: () => 6 })).toThrow("was not refused");
  });

  it("if they name a draft by a number that is an alias of the newest", () => {
    expect(refusalOf({ rules: "api", headers: "draft-8" }).message).toContain('got "draft-8": use "draft"');
    expect(refusalOf({ rules: "api", headers: ["legacy-epoch", "draft-10"] }).message).toContain('use "draft"');
    expect(refusalOf({ rules: "api", headers: "draft-5" }).message).not.toContain("use");
  });

  it("unless the framework reads them itself", () => {
    const options = { rules: "api", onDenied: () => {} };
    expect(refusalOf(options).field).toBe("options.onDenied");
    expect(() => refusalOf(options, ["onDenied"])).toThrow("was not refused");
  });

  it("if the limiter is not a limiter", () => {
    const make = () => new RateLimitMiddleware({} as never, { rules: "api" }, testAdapter);
    expect(refusal(make)).toMatchObject({ code: "HG_BAD_OPTION", field: "limiter" });
  });
});
