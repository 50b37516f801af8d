import { type ArgumentsHost, Catch, type ExecutionContext, HttpException, UseFilters } from "@nestjs/common";
import { APP_FILTER } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import type { Response } from "express";
import { describe, expect, it } from "vitest";
import { RateLimitException, RateLimitModule } from "../../../../src/middleware/nest.ts";
import { testLimiter } from "../../../../src/testing/index.ts";
import { rules } from "../framework.ts";
import { api, controller, start } from "./program.ts";

class SlowDown {
  catch(exception: HttpException, host: ArgumentsHost): void {
    const deniedBy = exception instanceof RateLimitException ? exception.denied.deniedBy : exception.message;
    host.switchToHttp().getResponse<Response>().json({ deniedBy });
  }
}

describe("Nest: a refusal", () => {
  // By a function: a fixed cost that can never pass is refused when the module is made.
  const greedy = { rules: "api", cost: () => 3 } as const;

  it.each<[string, ClassDecorator]>([
    ["its own", Catch(RateLimitException)],
    ["one for HTTP", Catch(HttpException)],
    ["one for everything", Catch()],
  ])("is an exception that the program may answer by a filter: %s", async (_name, catches) => {
    const { limiter } = testLimiter(rules);
    class Filter extends SlowDown {}
    catches(Filter);
    const module = RateLimitModule.forRoot({ limiter, ...greedy });
    const controllers = [controller({ "/a": [] }, UseFilters(Filter)), controller({ "/b": [UseFilters(Filter)] })];
    const limited = await start(module, controllers);
    const everywhere = { setUp: (app: NestExpressApplication) => app.useGlobalFilters(new Filter()) };
    const global = await start(module, [controller({ "/c": [] })], everywhere);
    for (const response of [await limited("/a"), await limited("/b"), await global("/c")]) {
      expect([response.status, await response.json()]).toEqual([429, { deniedBy: ["api"] }]);
      expect(response.headers.get("content-type")).toMatch(/^application\/json/);
      expect(response.headers.get("ratelimit-policy")).toBe(api);
    }
  });

  it("is what onDenied throws, at once or later, for every filter of the program", async () => {
    const { limiter } = testLimiter(rules);
    class Filter extends SlowDown {}
    Catch()(Filter);
    const providers = [{ provide: APP_FILTER, useClass: Filter }];
    for (const onDenied of [() => refuse(418), async () => refuse(418)]) {
      const module = RateLimitModule.forRoot({ limiter, ...greedy, onDenied });
      expect((await (await start(module, [controller({ "/": [] })]))("/")).status).toBe(418);
      const response = await (await start(module, [controller({ "/": [] })], { providers }))("/");
      expect([response.status, await response.json()]).toEqual([429, { deniedBy: "no" }]);
    }
  });

  it("is what onDenied sends, if that takes a while", async () => {
    const { limiter } = testLimiter(rules);
    const onDenied = (_refused: unknown, context: ExecutionContext) => {
      const response = context.switchToHttp().getResponse<Response>();
      response.write("slow ");
      setImmediate(() => response.end("down"));
    };
    const get = await start(RateLimitModule.forRoot({ limiter, ...greedy, onDenied }), [controller({ "/": [] })]);
    const response = await get("/");
    expect([response.status, await response.text()]).toEqual([429, "slow down"]);
  });

  it("is the problem if onDenied only listens", async () => {
    const { limiter } = testLimiter(rules);
    const heard: unknown[] = [];
    const onDenied = ({ deniedBy }: { deniedBy: readonly string[] }) => heard.push(deniedBy);
    const get = await start(RateLimitModule.forRoot({ limiter, ...greedy, onDenied }), [controller({ "/": [] })]);
    const response = await get("/");
    expect([response.status, response.headers.get("content-type")]).toEqual([429, "application/problem+json"]);
    expect(heard).toEqual([["api"]]);
  });
});

function refuse(status: number): never {
  throw new HttpException("no", status);
}
