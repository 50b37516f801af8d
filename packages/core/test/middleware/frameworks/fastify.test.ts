import fastify, { type FastifyRequest, type FastifyServerOptions } from "fastify";
import { describe, expect, expectTypeOf, it } from "vitest";
import { fixedWindow, rateLimiter } from "../../../src/index.ts";
import {
  clientAddress,
  type Passed,
  type RateLimitHook,
  type RateLimitOptions,
  rateLimit,
  rateLimitPlugin,
} from "../../../src/middleware/fastify.ts";
import type { Notice } from "../../../src/middleware/notices.ts";
import { ManualClock, testLimiter } from "../../../src/testing/index.ts";
import { SlowStore } from "../../limiter/slow-store.ts";
import { type Framework, rules, type TestGate } from "./framework.ts";
import { answer, signalOf } from "./streams/answers.ts";
import { next, nodeStream, type StreamingServer, streamed } from "./streams/streaming-server.ts";
import { frameworkSuite } from "./suite.ts";

function hook({ limiter, asked, onDenied }: TestGate<FastifyRequest>): RateLimitHook {
  if (onDenied === undefined) return rateLimit(limiter, asked);
  const options = typeof asked === "string" || "length" in asked ? { rules: asked } : asked;
  return rateLimit(limiter, {
    ...options,
    onDenied(refused, _request, reply) {
      const { status, body } = onDenied(refused);
      reply.code(status).send(body);
    },
  });
}

const fastifyServer: StreamingServer = {
  name: "Fastify",
  flushesHeaders: false,
  async listen({ limiter, ...job }) {
    const app = fastify({ forceCloseConnections: true });
    app.get("/next", { onRequest: rateLimit(limiter, next) }, async () => "");
    app.get("/stream", { onRequest: rateLimit(limiter, streamed) }, async (request, reply) => {
      const chunks = await answer({ ...job, admission: request.rateLimit, signal: signalOf(reply.raw) });
      return reply.send(nodeStream(chunks));
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { server: app.server, close: () => app.close() };
  },
};

/** As Fastify's users write server-sent events. */
const hijackedFastify: StreamingServer = {
  name: "Fastify with a hijacked reply",
  flushesHeaders: true,
  async listen({ limiter, ...job }) {
    const app = fastify({ forceCloseConnections: true });
    app.get("/next", { onRequest: rateLimit(limiter, next) }, async () => "");
    app.get("/stream", { onRequest: rateLimit(limiter, streamed) }, async (request, reply) => {
      const chunks = await answer({ ...job, admission: request.rateLimit, signal: signalOf(reply.raw) });
      reply.hijack();
      reply.raw.writeHead(200).flushHeaders();
      nodeStream(chunks)
        .on("error", () => reply.raw.destroy())
        .pipe(reply.raw);
    });
    await app.listen({ port: 0, host: "127.0.0.1" });
    return { server: app.server, close: () => app.close() };
  },
};

const framework: Framework<FastifyRequest> = {
  name: "Fastify",
  hasUsers: true,
  clientAddress,
  header({ headers }, name) {
    const value = headers[name];
    return Array.isArray(value) ? value.join() : value;
  },
  async listen(routes, host) {
    const app = fastify({ forceCloseConnections: true });
    app.addHook("onRequest", async (request) => {
      const id = request.headers["x-user"];
      if (id !== undefined) Object.assign(request, { user: { id } });
    });
    for (const [path, { gates, handle }] of Object.entries(routes)) {
      app.get(path, { onRequest: gates.map(hook) }, async (request, reply) => {
        const { status, body } = await handle(request.rateLimit);
        return reply.code(status).send(body);
      });
    }
    await app.listen({ port: 0, host });
    return { server: app.server, close: () => app.close() };
  },
  streams: [fastifyServer, hijackedFastify],
};

frameworkSuite(framework);

describe("the plugin", () => {
  it("holds for all routes beside and inside it, and for what no route matches", async () => {
    const { limiter } = testLimiter(rules);
    const app = fastify();
    await app.register(rateLimitPlugin(limiter, "day"));
    app.get("/", async (request) => ({ passed: request.rateLimit?.allowed }));
    app.register(async (inner) => {
      inner.get("/inner", async () => "ok");
    });
    expect((await app.inject("/")).json()).toEqual({ passed: true });
    expect((await app.inject("/inner")).headers).toMatchObject({ ratelimit: '"day";r=8;t=17280' });
    const missing = await app.inject("/missing");
    expect([missing.statusCode, missing.headers]).toMatchObject([404, { ratelimit: '"day";r=7;t=25920' }]);
  });

  it("holds nowhere else", async () => {
    const { limiter } = testLimiter(rules);
    const app = fastify();
    app.register(async (inner) => {
      await inner.register(rateLimitPlugin(limiter, "day"));
      inner.get("/inner", async () => "ok");
    });
    app.get("/outer", async () => "ok");
    expect((await app.inject("/inner")).headers).toHaveProperty("ratelimit");
    expect((await app.inject("/outer")).headers).not.toHaveProperty("ratelimit");
  });

  it("runs before a route's own limits", async () => {
    const { limiter } = testLimiter(rules);
    const app = fastify();
    await app.register(rateLimitPlugin(limiter, "day"));
    app.get("/", { onRequest: rateLimit(limiter, "api") }, async () => "ok");
    expect((await app.inject("/")).headers).toMatchObject({ ratelimit: '"day";r=9;t=8640, "api";r=1;t=60' });
  });

  it("is refused when it is made, if a rule does not exist", () => {
    const { limiter } = testLimiter(rules);
    // @ts-expect-error no such rule
    expect(() => rateLimitPlugin(limiter, "apy")).toThrow(expect.objectContaining({ code: "HG_UNKNOWN_RULE" }));
  });
});

describe("Fastify that trusts a proxy", () => {
  type TrustProxy = FastifyServerOptions["trustProxy"];

  async function charged(
    trustProxy: TrustProxy,
    options: Partial<RateLimitOptions<"api">> = {},
    forwarded = "6.6.6.6, 203.0.113.7",
  ) {
    const { limiter } = testLimiter(rules);
    const notices: Notice[] = [];
    const app = fastify({ ...(trustProxy === undefined ? {} : { trustProxy }) });
    const onNotice = (notice: Notice): void => void notices.push(notice);
    await app.register(rateLimitPlugin(limiter, { rules: "api", onNotice, ...options }));
    await app.inject({ url: "/", headers: { "x-forwarded-for": forwarded } });
    const keys = ["ip:127.0.0.1", "ip:6.6.6.6", "ip:203.0.113.7", "ip:2001:db8:0:0::/64"];
    return { keys: keys.filter((key) => limiter.peekSync("api", key).remaining === 1), notices };
  }

  it("says who the client is, and there is nothing to warn of", async () => {
    expect(await charged("loopback")).toEqual({ keys: ["ip:203.0.113.7"], notices: [] });
  });

  it("may say it with a port", async () => {
    const notices: Notice[] = [];
    expect(await charged(["127.0.0.1"], {}, "203.0.113.7:80")).toEqual({ keys: ["ip:203.0.113.7"], notices });
    expect(await charged(["127.0.0.1"], {}, "[2001:db8::1]:99")).toEqual({ keys: ["ip:2001:db8:0:0::/64"], notices });
  });

  it.each<[string, unknown]>([
    ["is given a number, which Fastify takes for nobody", 1],
    ["trusts another", "192.0.2.1"],
  ])("is warned of if it %s: the proxy counts as the client", async (_how, trustProxy) => {
    const { keys, notices } = await charged(trustProxy as TrustProxy);
    expect(keys).toEqual(["ip:127.0.0.1"]);
    expect(notices).toMatchObject([{ code: "HG_PROXY_NOT_TRUSTED" }]);
  });

  it.each<[string, TrustProxy]>([
    ["true", true],
    ["a function that never says no", () => true],
  ])("at every address (%s) causes a warning", async (_how, trustProxy) => {
    const { keys, notices } = await charged(trustProxy);
    expect(keys).toEqual(["ip:6.6.6.6"]);
    expect(notices).toMatchObject([
      { code: "HG_ALL_PROXIES_TRUSTED", message: expect.stringContaining("their quota") },
    ]);
    expect(await charged(trustProxy, { proxies: 1 })).toEqual({ keys: ["ip:203.0.113.7"], notices: [] });
  });

  it("trusts a number of proxies by a function, which is not every address", async () => {
    expect(await charged((_address, hop) => hop < 1)).toEqual({ keys: ["ip:203.0.113.7"], notices: [] });
  });

  it("is overruled by the option proxies", async () => {
    expect(await charged("loopback", { proxies: 0 })).toEqual({ keys: ["ip:127.0.0.1"], notices: [] });
  });
});

describe("a refusal in Fastify", () => {
  async function secondAnswer(onDenied: NonNullable<RateLimitOptions<"one">["onDenied"]>) {
    const clock = new ManualClock();
    const limiter = rateLimiter({ one: fixedWindow("1/m") }, { store: new SlowStore(clock), clock });
    const app = fastify();
    app.get("/", { onRequest: rateLimit(limiter, { rules: "one", onDenied }) }, async () => "ok");
    await app.inject("/");
    return app.inject("/");
  }

  it.each<[string, NonNullable<RateLimitOptions<"one">["onDenied"]>]>([
    ["sends it", ({ deniedBy }, _request, reply) => void reply.send({ wait: deniedBy })],
    ["sends it and returns the reply", ({ deniedBy }, _request, reply) => reply.send({ wait: deniedBy })],
    ["returns the reply by a promise", async ({ deniedBy }, _request, reply) => reply.send({ wait: deniedBy })],
    ["returns it", ({ deniedBy }) => ({ wait: deniedBy })],
    ["returns it by a promise", async ({ deniedBy }) => ({ wait: deniedBy })],
  ])("is what onDenied answers, who %s", async (_name, onDenied) => {
    const response = await secondAnswer(onDenied);
    expect([response.statusCode, response.headers["retry-after"]]).toEqual([429, "60"]);
    expect(response.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(response.json()).toEqual({ wait: ["one"] });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no page");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no page"))],
  ])("goes to the error handler if onDenied %s", async (_name, onDenied) => {
    const response = await secondAnswer(onDenied);
    expect([response.statusCode, response.json()]).toMatchObject([500, { message: "no page" }]);
  });

  it("stays one even if onDenied rejects with nothing", async () => {
    const response = await secondAnswer(() => Promise.reject());
    expect([response.statusCode, response.json()]).toMatchObject([500, { error: "Internal Server Error" }]);
  });
});

describe("the hook of Fastify", () => {
  it("can be a preHandler, which knows the body", async () => {
    const { limiter } = testLimiter(rules);
    const app = fastify();
    const preHandler = rateLimit(limiter, { rules: "day", cost: ({ body }) => (body as { units: number }).units });
    app.post("/", { preHandler }, async () => "ok");
    await app.inject({ method: "POST", url: "/", payload: { units: 4 } });
    expect(limiter.peekSync("day", "ip:127.0.0.1").remaining).toBe(6);
  });

  it("ignores a request that was answered elsewhere meanwhile, and returns what it took", async () => {
    const clock = new ManualClock();
    const store = new SlowStore(clock, 1000);
    const limiter = rateLimiter(rules, { store, clock });
    const reached: string[] = [];
    const app = fastify();
    app.addHook("onRequest", (_request, reply, done) => {
      done();
      reply.code(503).send("took too long");
    });
    app.addHook("onRequest", rateLimit(limiter, { rules: "api", refundOn: "aborted" }));
    app.get("/", async () => reached.push("the handler"));
    expect((await app.inject("/")).body).toBe("took too long");
    await clock.advance(1000);
    expect(store.calls.map(({ action }) => action)).toEqual(["take", "refund"]);
    expect(reached).toEqual([]);
  });
});

describe("the types of the Fastify door", () => {
  const { limiter } = testLimiter(rules);

  it("know the request and the rules", () => {
    const app = fastify();
    const options: RateLimitOptions<"api" | "day"> = { rules: "api", by: ({ headers }) => headers.host };
    app.get<{ Params: { id: string } }>("/users/:id", { onRequest: rateLimit(limiter, options) }, async (request) => {
      expectTypeOf(request.params.id).toBeString();
      expectTypeOf(request.rateLimit).toEqualTypeOf<Passed | undefined>();
    });
    // @ts-expect-error no such rule
    expect(() => rateLimit(limiter, "apy")).toThrow("apy");
    // @ts-expect-error no such option
    expect(() => rateLimit(limiter, { rules: "api", onDeny: () => {} })).toThrow("onDeny");
  });
});
