import { type ExecutionContext, Injectable } from "@nestjs/common";
import { APP_GUARD } from "@nestjs/core";
import { describe, expect, it } from "vitest";
import { RateLimit, RateLimitModule } from "../../../../src/middleware/nest.ts";
import type { Notice } from "../../../../src/middleware/notices.ts";
import { testLimiter } from "../../../../src/testing/index.ts";
import { rules } from "../framework.ts";
import { api, controller, limitOf, start } from "./program.ts";

describe("Nest: the module", () => {
  it.each<[string, object, string, string]>([
    ["a rule that does not exist", { rules: "dya" }, "HG_UNKNOWN_RULE", "rule"],
    ["an option that does not exist", { rule: "day" }, "HG_BAD_OPTION", "options.rule"],
    ["no limiter", { rules: "day", limiter: undefined }, "HG_BAD_OPTION", "limiter"],
  ])("refuses at the start %s", async (_name, options, code, field) => {
    const { limiter } = testLimiter(rules);
    const started = start(RateLimitModule.forRoot({ limiter, ...options }), []);
    await expect(started).rejects.toThrow(expect.objectContaining({ code, field }));
  });

  it("is named by Nest if it is missing", async () => {
    const started = start(undefined, [controller({ "/": [RateLimit("api")] })]);
    await expect(started).rejects.toThrow(/RateLimitGuard .*RateLimitModule\.forRoot/s);
  });

  it("may get its options from other providers", async () => {
    class Settings {
      readonly rule = "api";
    }
    Injectable()(Settings);
    const module = RateLimitModule.forRootAsync({
      imports: [{ module: class {}, providers: [Settings], exports: [Settings] }],
      inject: [Settings],
      useFactory: async ({ rule }: Settings) => ({ limiter: testLimiter(rules).limiter, rules: rule as "api" }),
    });
    expect(await limitOf(await start(module, [controller({ "/": [] })]), "/")).toBe(api);
  });

  it("comes after what the program itself guards its routes by, and so knows the user", async () => {
    const { limiter } = testLimiter(rules);
    class Authenticate {
      canActivate(context: ExecutionContext): boolean {
        Object.assign(context.switchToHttp().getRequest(), { user: { id: 7 } });
        return true;
      }
    }
    const module = RateLimitModule.forRoot({ limiter, rules: "day", by: "user" });
    const providers = [{ provide: APP_GUARD, useClass: Authenticate }];
    const get = await start(module, [controller({ "/": [] })], { providers });
    await get("/");
    expect(limiter.peekSync("day", "user:7").remaining).toBe(9);
  });

  it("takes the client from Express where that trusts a proxy, and there is nothing to warn of", async () => {
    const { limiter } = testLimiter(rules);
    const notices: Notice[] = [];
    const module = RateLimitModule.forRoot({ limiter, rules: "day", onNotice: (notice) => notices.push(notice) });
    const get = await start(module, [controller({ "/": [] })], { setUp: (app) => app.set("trust proxy", 1) });
    await get("/", { headers: { "x-forwarded-for": "6.6.6.6, 1.2.3.4" } });
    expect(limiter.peekSync("day", "ip:1.2.3.4").remaining).toBe(9);
    expect(notices).toEqual([]);
  });

  it.each([
    [true, "HG_ALL_PROXIES_TRUSTED"],
    ["192.0.2.1", "HG_PROXY_NOT_TRUSTED"],
  ])("warns if the proxies that Express trusts are %j", async (trusted, code) => {
    const notices: Notice[] = [];
    const { limiter } = testLimiter(rules);
    const module = RateLimitModule.forRoot({ limiter, rules: "day", onNotice: (notice) => notices.push(notice) });
    const get = await start(module, [controller({ "/": [] })], { setUp: (app) => app.set("trust proxy", trusted) });
    await get("/", { headers: { "x-forwarded-for": "1.2.3.4" } });
    expect(notices).toMatchObject([{ code }]);
  });
});
