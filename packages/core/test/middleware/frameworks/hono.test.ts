import { once } from "node:events";
import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { stream } from "hono/streaming";
import { describe, expect, expectTypeOf, it } from "vitest";
import { fixedWindow } from "../../../src/index.ts";
import { clientAddress, type Passed, rateLimit } from "../../../src/middleware/hono.ts";
import type { Ending } from "../../../src/middleware/refund-on.ts";
import { testLimiter } from "../../../src/testing/index.ts";
import { closeServer, type Framework, type Reply, rules, type TestGate } from "./framework.ts";
import { closesServers, started } from "./started.ts";
import { answer } from "./streams/answers.ts";
import { listening, next, type StreamingServer, streamed } from "./streams/streaming-server.ts";
import { frameworkSuite } from "./suite.ts";

function responseOf({ status, body }: Reply): Response {
  return new Response(status === 204 ? null : body, { status });
}

function middleware({ limiter, asked, onDenied }: TestGate<Context>): MiddlewareHandler {
  if (onDenied === undefined) return rateLimit(limiter, asked);
  const options = typeof asked === "string" || "length" in asked ? { rules: asked } : asked;
  return rateLimit(limiter, { ...options, onDenied: (refused) => responseOf(onDenied(refused)) });
}

const honoServer: StreamingServer = {
  name: "Hono",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const app = new Hono();
    app.get("/next", rateLimit(limiter, next), (c) => c.body(null));
    app.get("/stream", rateLimit(limiter, streamed), async (c) => {
      const chunks = await answer({ ...job, admission: c.get("rateLimit"), signal: c.req.raw.signal });
      return stream(
        c,
        (output) => output.pipe(chunks),
        async () => {},
      );
    });
    return listening(serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
  },
};

const framework: Framework<Context> = {
  name: "Hono",
  hasUsers: true,
  clientAddress,
  header: (c, name) => c.req.header(name),
  async listen(routes, host) {
    const app = new Hono<{ Variables: { user: { id: string } } }>();
    app.onError((_error, c) => c.text("an error", 500));
    app.use(async (c, next) => {
      const id = c.req.header("x-user");
      if (id !== undefined) c.set("user", { id });
      await next();
    });
    for (const [path, { gates, handle }] of Object.entries(routes)) {
      for (const gate of gates) app.get(path, middleware(gate));
      app.get(path, async (c) => responseOf(await handle(c.get("rateLimit"))));
    }
    const server = serve({ fetch: app.fetch, port: 0, hostname: host }) as Server;
    await once(server, "listening");
    return { server, close: () => closeServer(server) };
  },
  streams: [honoServer],
};

frameworkSuite(framework);

const peer = () => "192.0.2.1";

/** An application with a gate that tells how requests end. */
function watching() {
  const { limiter } = testLimiter(rules);
  const endings: Ending[] = [];
  const refundOn = (ending: Ending) => endings.push(ending) < 0;
  const app = new Hono();
  app.use(rateLimit(limiter, { rules: "day", proxies: 0, peer, refundOn }));
  return { app, endings };
}

describe("a response in Hono", () => {
  it("that cannot be changed is replaced by one with its own headers and ours", async () => {
    for (const app of [watching().app, new Hono().use(rateLimit(testLimiter(rules).limiter, { rules: "day", peer }))]) {
      app.get("/", () => fetch("data:text/csv,a;b"));
      const response = await app.request("/");
      expect([response.status, await response.text()]).toEqual([200, "a;b"]);
      expect(Object.fromEntries(response.headers)).toMatchObject({
        "content-type": "text/csv",
        ratelimit: '"day";r=9;t=8640',
      });
    }
  });

  it("keeps its cookies, its body and its status", async () => {
    const { app } = watching();
    app.get("/", (c) => {
      c.header("Set-Cookie", "a=1");
      c.header("Set-Cookie", "b=2", { append: true });
      return c.json({ made: true }, 201);
    });
    const response = await app.request("/");
    expect([response.status, response.headers.getSetCookie(), await response.json()]).toEqual([
      201,
      ["a=1", "b=2"],
      { made: true },
    ]);
    expect(response.headers.get("ratelimit")).toBe('"day";r=9;t=8640');
  });

  it("that is missing or that an error made has our headers, too", async () => {
    const { app, endings } = watching();
    app.onError((_error, c) => c.text("broken", 500));
    app.get("/broken", () => {
      throw new TypeError("broken");
    });
    for (const [path, status] of [
      ["/broken", 500],
      ["/missing", 404],
    ] as const) {
      const response = await app.request(path);
      expect(response.status).toBe(status);
      expect(response.headers.has("ratelimit")).toBe(true);
      await response.text();
    }
    expect(endings.map(({ status }) => status)).toEqual([500, 404]);
  });

  it("that is missing because a value other than an Error was thrown returns what was reserved", async () => {
    const { limiter } = testLimiter(rules);
    const app = new Hono();
    app.use(rateLimit(limiter, { rules: { rule: "day", reserve: 5 }, proxies: 0, peer }));
    app.get("/", () => {
      throw "no error";
    });
    await expect(async () => app.request("/")).rejects.toBe("no error");
    await expect.poll(() => limiter.peekSync("day", "ip:192.0.2.1").remaining).toBe(10);
  });

  it("has ended at once if its body will not be read", async () => {
    const { app, endings } = watching();
    app.get("/", (c) => c.text("not sent"));
    await app.request("/", { method: "HEAD" });
    expect(endings).toEqual([{ status: 200, aborted: false }]);
  });
});

describe("a stream in Hono", () => {
  closesServers();

  /** A server that streams two pieces, the second on demand. */
  async function streaming() {
    const { app, endings } = watching();
    let goOn = () => {};
    const told = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    app.get("/", (c) =>
      stream(c, async (stream) => {
        await stream.write("one");
        await told;
        await stream.write("two");
      }),
    );
    const url = await started(serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server);
    return { url, endings, goOn };
  }

  it("has ended when it is sent whole", async () => {
    const { url, endings, goOn } = await streaming();
    const response = await fetch(url);
    expect(endings).toEqual([]);
    goOn();
    expect(await response.text()).toBe("onetwo");
    await expect.poll(() => endings).toEqual([{ status: 200, aborted: false }]);
  });

  it("is abandoned if the client leaves in the middle of it", async () => {
    const { url, endings, goOn } = await streaming();
    const controller = new AbortController();
    const response = await fetch(url, { signal: controller.signal });
    await response.body?.getReader().read();
    controller.abort();
    await expect.poll(() => endings).toEqual([{ status: 200, aborted: true }]);
    goOn();
  });
});

describe("a refusal in Hono", () => {
  it("has what other middleware has set, and the status for onDenied to use", async () => {
    const { limiter } = testLimiter({ one: fixedWindow("1/m") });
    const own = new Hono().use(cors());
    own.use(async (c, next) => {
      c.header("X-Served-By", "a1");
      await next();
    });
    own.get("/ours", rateLimit(limiter, { rules: "one", peer }), (c) => c.text("ok"));
    own.get(
      "/own",
      rateLimit(limiter, { rules: "one", peer, onDenied: ({ deniedBy }, c) => c.json({ wait: deniedBy }) }),
    );
    await own.request("/ours");
    for (const path of ["/ours", "/own"]) {
      const response = await own.request(path);
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, "60"]);
      expect(response.headers.get("access-control-allow-origin")).toBe("*");
      expect(response.headers.get("x-served-by")).toBe("a1");
      const type = path === "/own" ? "application/json" : "application/problem+json";
      expect(response.headers.get("content-type")).toBe(type);
    }
  });
});

describe("the peer in Hono", () => {
  it.each([
    [null, "ip:unknown"],
    ["192.0.2.7:80", "ip:192.0.2.7"],
  ])("may be given as %j", async (told, key) => {
    const { limiter } = testLimiter(rules);
    const app = new Hono().use(rateLimit(limiter, { rules: "day", peer: () => told, onNotice: () => {} }));
    await app.request("/");
    expect(limiter.peekSync("day", key).remaining).toBe(9);
  });

  it("can be given by a function", async () => {
    const { limiter } = testLimiter(rules);
    const app = new Hono();
    app.use(rateLimit(limiter, { rules: "api", proxies: 0, peer: (c) => c.req.header("fly-client-ip") }));
    await app.request("/", { headers: { "fly-client-ip": "192.0.2.7" } });
    expect(limiter.peekSync("api", "ip:192.0.2.7").remaining).toBe(1);
    expect(() => rateLimit(limiter, { rules: "api", peer: "192.0.2.7" as never })).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field: "peer" }),
    );
  });
});

describe("the types of the Hono door", () => {
  const { limiter } = testLimiter(rules);

  it("know the context and the rules", () => {
    const app = new Hono<{ Bindings: { TOKEN: string } }>();
    app.get("/users/:id", rateLimit(limiter, { rules: "api", by: (c) => c.req.header("x-team") }), (c) => {
      expectTypeOf(c.req.param("id")).toBeString();
      expectTypeOf(c.get("rateLimit")).toEqualTypeOf<Passed | undefined>();
      expectTypeOf(c.env.TOKEN).toBeString();
      return c.text("ok");
    });
    // @ts-expect-error no such rule
    expect(() => rateLimit(limiter, "apy")).toThrow("apy");
    // @ts-expect-error no such option
    expect(() => rateLimit(limiter, { rules: "api", onDeny: () => {} })).toThrow("onDeny");
  });
});
