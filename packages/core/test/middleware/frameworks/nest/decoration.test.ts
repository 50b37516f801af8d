import { Controller } from "@nestjs/common";
import { ExecutionContextHost } from "@nestjs/core/helpers/execution-context-host.js";
import { describe, expect, it } from "vitest";
import { RateLimit, RateLimitModule, SkipRateLimit } from "../../../../src/middleware/nest.ts";
import { testLimiter } from "../../../../src/testing/index.ts";
import { rules } from "../framework.ts";
import { api, controller, day, limitOf, start } from "./program.ts";

describe("Nest: a decoration", () => {
  it("of a controller is that of its routes, and of those that inherit it", async () => {
    const { limiter } = testLimiter(rules);
    const Base = controller({ "/a": [], "/b": [] }, RateLimit("api"));
    class Derived extends Base {}
    Controller("derived")(Derived);
    const get = await start(RateLimitModule.forRoot({ limiter }), [Base, Derived, controller({ "/c": [] })]);
    expect(await limitOf(get, "/a")).toBe(api);
    expect(await limitOf(get, "/derived/b")).toBe(api);
    expect((await get("/b")).status).toBe(429);
    expect(await limitOf(get, "/c")).toBeNull();
  });

  it("of a method takes the place of its controller's, and that takes the place of the module's", async () => {
    const { limiter } = testLimiter(rules);
    const module = RateLimitModule.forRoot({ limiter, rules: "day" });
    const get = await start(module, [
      controller({ "/own": [RateLimit(["day", "api"])], "/free": [SkipRateLimit()], "/class": [] }, RateLimit("api")),
      controller({ "/module": [], "/only": [RateLimit("api")] }),
      controller({ "/skipped": [] }, SkipRateLimit()),
    ]);
    expect(await limitOf(get, "/own")).toBe(`${day}, ${api}`);
    expect(await limitOf(get, "/class")).toBe(api);
    expect(await limitOf(get, "/module")).toBe(day);
    for (const path of ["/free", "/skipped"]) expect(await limitOf(get, path)).toBeNull();
    expect([await limitOf(get, "/only"), (await get("/only")).status]).toEqual([api, 429]);
    expect(limiter.peekSync("day", "ip:127.0.0.1").remaining).toBeCloseTo(8, 1);
  });

  it("has its own options before those of the module", async () => {
    const { limiter } = testLimiter(rules);
    const module = RateLimitModule.forRoot({ limiter, rules: "day", by: { header: "x-key" }, headers: "draft-7" });
    const get = await start(module, [controller({ "/a": [RateLimit("api", { headers: "draft" })], "/b": [] })]);
    const asAnn = { headers: { "x-key": "ann" } };
    expect((await get("/a", asAnn)).headers.get("ratelimit")).toBe('"api";r=1;t=60');
    expect((await get("/b", asAnn)).headers.get("ratelimit")).toBe("limit=10, remaining=9, reset=8640");
    expect(limiter.peekSync("api", "header:ann").remaining).toBe(1);
    expect(limiter.peekSync("day", "header:ann").remaining).toBe(9);
  });

  it("limits HTTP only, and says so of anything else", async () => {
    const { limiter } = testLimiter(rules);
    const Limited = controller({ "/a": [RateLimit("api")] });
    await start(RateLimitModule.forRoot({ limiter }), [Limited]);
    const handler = Limited.prototype["/a"];
    const [Guard] = Reflect.getMetadata("__guards__", handler);
    const context = new ExecutionContextHost([], Limited, handler);
    context.setType("rpc");
    const guard = new Guard({ limiter, options: {} });
    expect(() => guard.canActivate(context)).toThrow('supports only HTTP requests, got "rpc"');
  });
});
