import { once } from "node:events";
import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import { describe, expect, expectTypeOf, it } from "vitest";
import { fixedWindow } from "../../../src/index.ts";
import type { Ending } from "../../../src/middleware/refund-on.ts";
import { clientAddress, type Denied, type Passed, rateLimit } from "../../../src/middleware/web.ts";
import { testLimiter } from "../../../src/testing/index.ts";
import { closeServer, type Framework, type Reply, rules, type TestGate } from "./framework.ts";
import { closesServers, started } from "./started.ts";
import { answer } from "./streams/answers.ts";
import { listening, next, type StreamingServer, streamed } from "./streams/streaming-server.ts";
import { frameworkSuite } from "./suite.ts";

type Handler = (request: Request, ...platform: unknown[]) => Response | Promise<Response>;

function responseOf({ status, body }: Reply): Response {
  return new Response(status === 204 ? null : body, { status });
}

function limitOf({ limiter, asked, onDenied }: TestGate<Request>) {
  if (onDenied === undefined) return rateLimit(limiter, asked);
  const options = typeof asked === "string" || "length" in asked ? { rules: asked } : asked;
  return rateLimit(limiter, { ...options, onDenied: (refused) => responseOf(onDenied(refused)) });
}

const webServer: StreamingServer = {
  name: "Request → Response",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const forNext = rateLimit(limiter, next)((_request, _admission, _platform: unknown) => new Response(null));
    const limitStream = rateLimit(limiter, streamed);
    const forStream = limitStream(async ({ signal }, admission, _platform: unknown) => {
      return new Response(await answer({ ...job, admission, signal }));
    });
    const handler = (request: Request, platform: unknown) =>
      new URL(request.url).pathname === "/next" ? forNext(request, platform) : forStream(request, platform);
    return listening(serve({ fetch: handler, port: 0, hostname: "127.0.0.1" }) as Server);
  },
};

const framework: Framework<Request> = {
  name: "Request → Response",
  hasUsers: false,
  clientAddress,
  header: ({ headers }, name) => headers.get(name) ?? undefined,
  async listen(routes, host) {
    const handlers = new Map<string, Handler>();
    for (const [path, { gates, handle }] of Object.entries(routes)) {
      // The innermost gate has the admission that the handler finds.
      const [inner, ...outer] = gates.map(limitOf).reverse();
      const innermost: Handler = inner(async (_request, admission) => responseOf(await handle(admission)));
      handlers.set(
        path,
        outer.reduce<Handler>(
          (handler, limit) => limit((request, _admission, ...platform: unknown[]) => handler(request, ...platform)),
          innermost,
        ),
      );
    }
    const fetch: Handler = (request, ...platform) => {
      const handler = handlers.get(new URL(request.url).pathname);
      return handler === undefined ? new Response(null, { status: 404 }) : handler(request, ...platform);
    };
    const server = serve({ fetch, port: 0, hostname: host }) as Server;
    await once(server, "listening");
    return { server, close: () => closeServer(server) };
  },
  streams: [webServer],
};

frameworkSuite(framework);

/** A gate that tells how requests end. */
function watching() {
  const { limiter } = testLimiter(rules);
  const endings: Ending[] = [];
  const refundOn = (ending: Ending) => endings.push(ending) < 0;
  return { limit: rateLimit(limiter, { rules: "day", proxies: 0, peer, refundOn }), endings };
}

const request = () => new Request("http://localhost/");
const peer = () => "192.0.2.1";

describe("what the platform gives beside the request", () => {
  interface Server {
    readonly name: string;
    requestIP(request: Request): { readonly address: string };
  }

  const server: Server = { name: "Bun", requestIP: () => ({ address: "192.0.2.3" }) };

  it("reaches the handler, and has the address", async () => {
    const { limiter } = testLimiter(rules);
    const handler = rateLimit(limiter, { rules: "api", proxies: 0 })((_request, { allowed }, { name }: Server) => {
      return Response.json({ allowed, name });
    });
    expectTypeOf(handler).toEqualTypeOf<(request: Request, server: Server) => Promise<Response>>();
    expect(await (await handler(request(), server)).json()).toEqual({ allowed: true, name: "Bun" });
    expect(limiter.peekSync("api", "ip:192.0.2.3").remaining).toBe(1);
  });

  it("is there for the functions that ask for it", async () => {
    const { limiter } = testLimiter({ one: fixedWindow("1/m") });
    const handler = rateLimit(limiter, {
      rules: "one",
      proxies: 0,
      peer: (_request: Request, { name }: Server) => (name === "Bun" ? "192.0.2.7" : undefined),
      onDenied: ({ status }: Denied, _request: Request, { name }: Server) => new Response(name, { status }),
    })((_request, _admission, _server: Server) => new Response("ok"));
    await handler(request(), server);
    expect(limiter.peekSync("one", "ip:192.0.2.7").remaining).toBe(0);
    const response = await handler(request(), server);
    expect([response.status, await response.text()]).toEqual([429, "Bun"]);
  });
});

describe("the peer of a request", () => {
  it.each([
    [null, "ip:unknown"],
    ["192.0.2.7:80", "ip:192.0.2.7"],
  ])("may be given as %j", async (told, key) => {
    const { limiter } = testLimiter(rules);
    const limit = rateLimit(limiter, { rules: "day", peer: () => told, onNotice: () => {} });
    await limit(() => new Response("ok"))(request());
    expect(limiter.peekSync("day", key).remaining).toBe(9);
  });
});

describe("a response that cannot be changed", () => {
  /** Only what was fetched cannot be changed for sure: servers have their own classes of responses. */
  const fetched = () => fetch("data:text/csv,a;b");

  it("is copied, with its own headers and ours", async () => {
    const { limiter } = testLimiter(rules);
    const response = await rateLimit(limiter, { rules: "day", peer })(fetched)(request());
    expect([response.status, await response.text()]).toEqual([200, "a;b"]);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/csv",
      ratelimit: '"day";r=9;t=8640',
    });
  });

  it("is left alone if the connection has switched to another protocol", async () => {
    const { limiter } = testLimiter(rules);
    const switched = Object.defineProperty(await fetched(), "status", { value: 101 });
    expect(await rateLimit(limiter, { rules: "day", peer })(() => switched)(request())).toBe(switched);
  });

  it("is left as it is if there are no headers to add", async () => {
    const { limiter } = testLimiter(rules);
    const own = await fetched();
    expect(await rateLimit(limiter, { rules: "day", skip: () => true })(() => own)(request())).toBe(own);
  });
});

describe("a refusal without a body", () => {
  it("has no type of one", async () => {
    const { limiter } = testLimiter({ one: fixedWindow("1/m") });
    const onDenied = () => new Response(null, { status: 429 });
    const handler = rateLimit(limiter, { rules: "one", peer, onDenied })(() => new Response("ok"));
    await handler(request());
    const response = await handler(request());
    expect([response.headers.get("retry-after"), response.headers.get("content-type")]).toEqual(["60", null]);
  });
});

describe("what a handler has set itself", () => {
  it("is kept, but ours are appended to lists", async () => {
    const { limiter } = testLimiter(rules);
    const headers = { "X-RateLimit-Limit": "7", RateLimit: '"own";r=1;t=1' };
    const limit = rateLimit(limiter, { rules: "day", headers: ["draft", "legacy-seconds"], peer });
    const response = await limit(() => new Response("ok", { headers }))(request());
    expect(response.headers.get("x-ratelimit-limit")).toBe("7");
    expect(response.headers.get("ratelimit")).toBe('"own";r=1;t=1, "day";r=9;t=8640');
  });
});

describe("the end of a response", () => {
  closesServers();

  it("is the error that the handler throws, which is rethrown unchanged", async () => {
    const { limit, endings } = watching();
    const error = new TypeError("broken");
    for (const handler of [() => Promise.reject(error), thrower(error)]) {
      await expect(limit(handler)(request())).rejects.toBe(error);
    }
    expect(endings).toEqual([
      { status: 500, aborted: false },
      { status: 500, aborted: false },
    ]);
  });

  it("comes when the body was read whole", async () => {
    const { limit, endings } = watching();
    const response = await limit(() => Response.json({ made: true }, { status: 201 }))(request());
    expect(endings).toEqual([]);
    expect(await response.json()).toEqual({ made: true });
    expect(endings).toEqual([{ status: 201, aborted: false }]);
  });

  it("comes early if the body is not wanted any more, and its source hears why", async () => {
    const { limit, endings } = watching();
    const heard: unknown[] = [];
    const body = new ReadableStream({ cancel: (reason) => void heard.push(reason) });
    const response = await limit(() => new Response(body))(request());
    await response.body?.cancel("enough");
    expect([heard, endings]).toEqual([["enough"], [{ status: 200, aborted: true }]]);
  });

  it("comes early if the source of the body fails, and the reader gets the error", async () => {
    const { limit, endings } = watching();
    const body = new ReadableStream({ pull: thrower(new TypeError("broken")) });
    const response = await limit(() => new Response(body))(request());
    await expect(response.text()).rejects.toThrow("broken");
    expect(endings).toEqual([{ status: 200, aborted: true }]);
  });

  it("is known of a client that leaves in the middle of a stream", async () => {
    const { limit, endings } = watching();
    const pieces = () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(9)) });
    const handler = limit(() => new Response(pieces()));
    const url = await started(serve({ fetch: handler, port: 0, hostname: "127.0.0.1" }) as Server);
    const controller = new AbortController();
    const response = await fetch(url, { signal: controller.signal });
    await response.body?.getReader().read();
    controller.abort();
    await expect.poll(() => endings).toEqual([{ status: 200, aborted: true }]);
  });
});

describe("the types of the web door", () => {
  const { limiter } = testLimiter(rules);

  it("know the request, the platform and the rules", () => {
    class NextRequest extends Request {
      readonly tenant = "t1";
    }
    interface Route {
      readonly params: Promise<{ readonly id: string }>;
    }
    const limit = rateLimit(limiter, { rules: "api", by: (request: NextRequest) => request.tenant });
    const GET = limit(async (request, admission, { params }: Route) => {
      expectTypeOf(request).toEqualTypeOf<NextRequest>();
      expectTypeOf(admission).toEqualTypeOf<Passed>();
      return new Response((await params).id);
    });
    expectTypeOf(GET).toEqualTypeOf<(request: NextRequest, route: Route) => Promise<Response>>();
    expectTypeOf(rateLimit(limiter, "api")((request) => new Response(request.url))).toExtend<
      (request: Request) => Promise<Response>
    >();
    // @ts-expect-error no such rule
    expect(() => rateLimit(limiter, "apy")).toThrow("apy");
    // @ts-expect-error no such option
    expect(() => rateLimit(limiter, { rules: "api", onDeny: () => {} })).toThrow("onDeny");
  });
});

function thrower(error: Error): () => never {
  return () => {
    throw error;
  };
}
