import { once } from "node:events";
import { createServer } from "node:http";
import Koa, { type Context, type Middleware } from "koa";
import { describe, expect, expectTypeOf, it } from "vitest";
import { fixedWindow } from "../../../src/index.ts";
import { clientAddress, type Passed, type RateLimitOptions, rateLimit } from "../../../src/middleware/koa.ts";
import type { Notice } from "../../../src/middleware/notices.ts";
import { testLimiter } from "../../../src/testing/index.ts";
import { closeServer, type Framework, rules, type TestGate } from "./framework.ts";
import { closesServers, started } from "./started.ts";
import { answer, signalOf } from "./streams/answers.ts";
import { listening, next, nodeStream, type StreamingServer, streamed } from "./streams/streaming-server.ts";
import { frameworkSuite } from "./suite.ts";

function middleware({ limiter, asked, onDenied }: TestGate<Context>): Middleware {
  if (onDenied === undefined) return rateLimit(limiter, asked);
  const options = typeof asked === "string" || "length" in asked ? { rules: asked } : asked;
  return rateLimit(limiter, {
    ...options,
    onDenied(refused, ctx) {
      Object.assign(ctx, onDenied(refused));
    },
  });
}

/** Only for one path. */
function at(path: string, middleware: Middleware): Middleware {
  return (ctx, next) => (ctx.path === path ? middleware(ctx, next) : next());
}

const koaServer: StreamingServer = {
  name: "Koa",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const app = new Koa();
    app.silent = true;
    const forNext = rateLimit(limiter, next);
    const forStream = rateLimit(limiter, streamed);
    app.use((ctx) => {
      ctx.status = 200;
      if (ctx.path === "/next") return forNext(ctx, async () => {});
      return forStream(ctx, async () => {
        const chunks = await answer({ ...job, admission: ctx.state.rateLimit, signal: signalOf(ctx.res) });
        ctx.flushHeaders();
        ctx.body = nodeStream(chunks);
      });
    });
    return listening(createServer(app.callback()));
  },
};

const framework: Framework<Context> = {
  name: "Koa",
  hasUsers: true,
  clientAddress,
  header: (ctx, name) => ctx.get(name) || undefined,
  async listen(routes, host) {
    const app = new Koa();
    app.silent = true;
    app.use((ctx, next) => {
      const id = ctx.get("x-user");
      if (id !== "") Object.assign(ctx.state, { user: { id } });
      return next();
    });
    for (const [path, { gates, handle }] of Object.entries(routes)) {
      for (const gate of gates) app.use(at(path, middleware(gate)));
      app.use(
        at(path, async (ctx) => {
          Object.assign(ctx, await handle(ctx.state.rateLimit));
        }),
      );
    }
    const server = app.listen(0, host);
    await once(server, "listening");
    return { server, close: () => closeServer(server) };
  },
  streams: [koaServer],
};

frameworkSuite(framework);

describe("Koa that trusts a proxy", () => {
  closesServers();

  it("is not heeded, for it takes the client's word: the option proxies decides", async () => {
    const { limiter } = testLimiter(rules);
    const notices: Notice[] = [];
    const app = new Koa({ proxy: true });
    app.use(rateLimit(limiter, { rules: "api", onNotice: (notice) => notices.push(notice) }));
    await fetch(await started(app.listen(0, "127.0.0.1")), { headers: { "x-forwarded-for": "6.6.6.6" } });
    expect(limiter.peekSync("api", "ip:127.0.0.1").remaining).toBe(1);
    expect(notices.map(({ code }) => code)).toEqual(["HG_PROXY_NOT_TRUSTED"]);
  });
});

describe("a refusal in Koa", () => {
  closesServers();

  async function secondAnswer(onDenied: NonNullable<RateLimitOptions<"one">["onDenied"]>): Promise<Response> {
    const { limiter } = testLimiter({ one: fixedWindow("1/m") });
    const app = new Koa();
    app.silent = true;
    app.use(rateLimit(limiter, { rules: "one", onDenied })).use((ctx) => {
      ctx.body = "ok";
    });
    const url = await started(app.listen(0, "127.0.0.1"));
    await fetch(url);
    return fetch(url);
  }

  it("has the type of the body that onDenied gives it, and its status unless that says another", async () => {
    const response = await secondAnswer((refused, ctx) => {
      ctx.body = { wait: refused.deniedBy };
    });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await response.json()).toEqual({ wait: ["one"] });
  });

  it("goes to the error handler if onDenied rejects", async () => {
    expect((await secondAnswer(() => Promise.reject(new Error("no page")))).status).toBe(500);
  });

  it("can be passed on by onDenied, which has the next function", async () => {
    const response = await secondAnswer((_refused, _ctx, next) => next());
    expect(await response.text()).toBe("ok");
  });
});

describe("an error in Koa", () => {
  closesServers();

  it("has our headers if a middleware answers it; Koa itself removes all of them", async () => {
    const { limiter } = testLimiter(rules);
    const app = new Koa();
    app.silent = true;
    app.use(async (ctx, next) => {
      if (ctx.path === "/unanswered") return next();
      return next().catch(() => Object.assign(ctx, { status: 500, body: "sorry" }));
    });
    app.use(rateLimit(limiter, "api")).use(() => {
      throw new TypeError("broken");
    });
    const url = await started(app.listen(0, "127.0.0.1"));
    expect((await fetch(url)).headers.get("ratelimit")).toBe('"api";r=1;t=60');
    expect((await fetch(`${url}/unanswered`)).headers.get("ratelimit")).toBeNull();
  });
});

describe("the types of the Koa door", () => {
  const { limiter } = testLimiter(rules);

  it("know the context and the rules", () => {
    const app = new Koa();
    app.use(rateLimit(limiter, { rules: "api", by: (ctx) => ctx.get("x-team"), cost: ({ length }) => length }));
    app.use((ctx) => expectTypeOf(ctx.state.rateLimit).toEqualTypeOf<Passed | undefined>());
    expectTypeOf(rateLimit(limiter, "api")).toExtend<Middleware>();
    // @ts-expect-error no such rule
    expect(() => rateLimit(limiter, "apy")).toThrow("apy");
    // @ts-expect-error no such option
    expect(() => rateLimit(limiter, { rules: "api", onDeny: () => {} })).toThrow("onDeny");
  });
});
