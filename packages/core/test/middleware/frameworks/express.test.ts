import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import express, { type ErrorRequestHandler, type Request, type RequestHandler } from "express";
import { afterEach, describe, expect, expectTypeOf, it } from "vitest";
import { fixedWindow, rateLimiter } from "../../../src/index.ts";
import { clientAddress, type Denied, type Passed, rateLimit } from "../../../src/middleware/express.ts";
import type { Notice } from "../../../src/middleware/notices.ts";
import { ManualClock, testLimiter } from "../../../src/testing/index.ts";
import { SlowStore } from "../../limiter/slow-store.ts";
import { closeServer, type Framework, rules, type TestGate } from "./framework.ts";
import { answer, signalOf } from "./streams/answers.ts";
import { listening, next, type StreamingServer, streamed } from "./streams/streaming-server.ts";
import { frameworkSuite } from "./suite.ts";

const authenticate: RequestHandler = (request, _response, next) => {
  const id = request.get("x-user");
  if (id !== undefined) Object.assign(request, { user: { id } });
  next();
};

const silent: ErrorRequestHandler = (_error, _request, response, _next) => {
  response.status(500).end();
};

function middleware({ limiter, asked, onDenied }: TestGate<Request>): RequestHandler {
  if (onDenied === undefined) return rateLimit(limiter, asked);
  const options = typeof asked === "string" || "length" in asked ? { rules: asked } : asked;
  return rateLimit(limiter, {
    ...options,
    onDenied(refused, _request, response) {
      const { status, body } = onDenied(refused);
      response.status(status).send(body);
    },
  });
}

const nodeHttp: StreamingServer = {
  name: "node:http",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const forStream = rateLimit(limiter, streamed);
    const forNext = rateLimit(limiter, next);
    const server = createServer((request, response) => {
      if (request.url === "/next") return forNext(request, response, () => response.end());
      forStream(request, response, async () => {
        const { rateLimit: admission } = request as { rateLimit?: Passed };
        try {
          const chunks = await answer({ ...job, admission, signal: signalOf(response) });
          response.flushHeaders();
          for await (const chunk of chunks) response.write(chunk);
          response.end();
        } catch {
          response.destroy();
        }
      });
    });
    return listening(server);
  },
};

const expressServer: StreamingServer = {
  name: "Express",
  flushesHeaders: true,
  listen({ limiter, ...job }) {
    const app = express();
    app.set("env", "test");
    app.get("/next", rateLimit(limiter, next), (_request, response) => void response.end());
    app.get("/stream", rateLimit(limiter, streamed), async (request, response, forward) => {
      try {
        const chunks = await answer({ ...job, admission: request.rateLimit, signal: signalOf(response) });
        response.flushHeaders();
        for await (const chunk of chunks) response.write(chunk);
        response.end();
      } catch (error) {
        // Express 4 does not wait for promises.
        forward(error);
      }
    });
    return listening(createServer(app));
  },
};

const framework: Framework<Request> = {
  name: "Express",
  hasUsers: true,
  clientAddress,
  header: (request, name) => request.get(name),
  async listen(routes, host) {
    const app = express();
    app.use(authenticate);
    for (const [path, { gates, handle }] of Object.entries(routes)) {
      // Express 4 does not look at the promise of a handler.
      app.get(path, ...gates.map(middleware), (request, response, next) => {
        const answer = async (): Promise<void> => {
          const { status, body } = await handle(request.rateLimit);
          response.status(status).send(body);
        };
        answer().catch(next);
      });
    }
    app.use(silent);
    const server = app.listen(0, host);
    await once(server, "listening");
    return { server, close: () => closeServer(server) };
  },
  streams: [nodeHttp, expressServer],
};

frameworkSuite(framework);

const servers: ReturnType<typeof createServer>[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map(closeServer));
});

/** A server, and its address. */
async function serve(listener: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function from(address: string): RequestInit {
  return { headers: { "X-Forwarded-For": address } };
}

describe("Express that trusts a proxy", () => {
  it("says who the client is, and there is nothing to warn of", async () => {
    const { limiter } = testLimiter(rules);
    const notices: Notice[] = [];
    const app = express().set("trust proxy", "loopback");
    app.get("/", rateLimit(limiter, { rules: "api", onNotice: (notice) => notices.push(notice) }), (_, response) => {
      response.end();
    });
    const url = await serve(app);
    await fetch(url, from("6.6.6.6, 203.0.113.7"));
    await fetch(url, from("2001:db8:1:2:3::4"));
    expect(limiter.peekSync("api", "ip:203.0.113.7").remaining).toBe(1);
    expect(limiter.peekSync("api", "ip:2001:db8:1:2::/64").remaining).toBe(1);
    expect(notices).toEqual([]);
  });

  it("at every address causes a warning", async () => {
    const { limiter } = testLimiter(rules);
    const notices: Notice[] = [];
    const app = express().set("trust proxy", true);
    app.use(rateLimit(limiter, { rules: "api", onNotice: (notice) => notices.push(notice) }), (_, response) => {
      response.end();
    });
    const url = await serve(app);
    await fetch(url);
    await fetch(url, from("6.6.6.6"));
    expect(notices).toMatchObject([
      { code: "HG_ALL_PROXIES_TRUSTED", message: expect.stringContaining("their quota") },
    ]);
  });

  it.each([
    ["203.0.113.7:5678", "ip:203.0.113.7"],
    ["[2001:db8::1]:99", "ip:2001:db8:0:0::/64"],
  ])("may say it with a port: %s", async (address, key) => {
    const { limiter } = testLimiter(rules);
    const notices: Notice[] = [];
    const app = express().set("trust proxy", 1);
    app.use(rateLimit(limiter, { rules: "api", onNotice: (notice) => notices.push(notice) }), (_, response) => {
      response.end();
    });
    await fetch(await serve(app), from(address));
    expect(limiter.peekSync("api", key).remaining).toBe(1);
    expect(notices).toEqual([]);
  });

  it("other than the actual one causes a warning", async () => {
    const { limiter } = testLimiter(rules);
    const notices: Notice[] = [];
    const app = express().set("trust proxy", "192.0.2.1");
    app.use(rateLimit(limiter, { rules: "api", onNotice: (notice) => notices.push(notice) }), (_, response) => {
      response.end();
    });
    await fetch(await serve(app), from("203.0.113.7"));
    expect(limiter.peekSync("api", "ip:127.0.0.1").remaining).toBe(1);
    expect(notices.map(({ code }) => code)).toEqual(["HG_PROXY_NOT_TRUSTED"]);
  });

  it("leaves the headers to limits that count by them", async () => {
    const { limiter } = testLimiter(rules);
    const app = express().set("trust proxy", 1);
    app.use(rateLimit(limiter, { rules: "api", by: { header: "x-forwarded-for" } }), (_, response) => {
      response.end();
    });
    await fetch(await serve(app), from("203.0.113.7"));
    expect(limiter.peekSync("api", "header:203.0.113.7").remaining).toBe(1);
  });

  it("is heeded when a mounted application inherits it", async () => {
    const { limiter } = testLimiter(rules);
    const inner = express().use(rateLimit(limiter, "api"), (_, response) => {
      response.end();
    });
    const url = await serve(express().set("trust proxy", 1).use("/inner", inner));
    await fetch(`${url}/inner`, from("203.0.113.7"));
    expect(limiter.peekSync("api", "ip:203.0.113.7").remaining).toBe(1);
  });

  it("is overruled by the option proxies", async () => {
    const { limiter } = testLimiter(rules);
    const app = express().set("trust proxy", "loopback");
    app.use(rateLimit(limiter, { rules: "api", proxies: 0 }), (_, response) => {
      response.end();
    });
    await fetch(await serve(app), from("203.0.113.7"));
    expect(limiter.peekSync("api", "ip:127.0.0.1").remaining).toBe(1);
  });
});

describe("a refusal in Express", () => {
  it("has the type of the body that onDenied sends, and its status unless that says another", async () => {
    const { limiter } = testLimiter({ one: fixedWindow("1/m") });
    const onDenied = (refused: Denied, _request: Request, response: express.Response): void => {
      response.json({ wait: refused.deniedBy });
    };
    const url = await serve(express().use(rateLimit(limiter, { rules: "one", onDenied })));
    await fetch(url);
    const response = await fetch(url);
    expect(response.status).toBe(429);
    expect(response.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(response.headers.get("retry-after")).toBe("60");
    expect(await response.json()).toEqual({ wait: ["one"] });
  });

  it.each([
    [
      "throws",
      () => {
        throw new Error("no page");
      },
    ],
    [
      "rejects",
      async () => {
        throw new Error("no page");
      },
    ],
  ])("goes to the error handler if onDenied %s", async (_how, onDenied) => {
    const { limiter } = testLimiter({ one: fixedWindow("1/m") });
    const heard: unknown[] = [];
    const listen: ErrorRequestHandler = (error, _request, response, _next) => {
      heard.push(error.message);
      response.status(500).end();
    };
    const url = await serve(express().use(rateLimit(limiter, { rules: "one", onDenied }), listen));
    await fetch(url);
    expect((await fetch(url)).status).toBe(500);
    expect(heard).toEqual(["no page"]);
  });

  it("can be passed on by onDenied, which has the next function", async () => {
    const { limiter } = testLimiter({ one: fixedWindow("1/m") });
    const app = express().use(
      rateLimit(limiter, { rules: "one", onDenied: (_refused, _request, _response, next) => next() }),
      (_request, response) => {
        response.send("let through");
      },
    );
    const url = await serve(app);
    await fetch(url);
    expect(await (await fetch(url)).text()).toBe("let through");
  });
});

describe("a slow store under Express", () => {
  it("does not take a client for gone whose body has been read", async () => {
    const clock = new ManualClock(60_000_000);
    const limiter = rateLimiter(rules, { store: new SlowStore(clock), clock });
    const app = express().use(express.json(), rateLimit(limiter, "api"), (request, response) => {
      response.json(request.body);
    });
    const body = JSON.stringify({ name: "Ann" });
    const url = await serve(app);
    const response = await fetch(url, { method: "POST", body, headers: { "content-type": "application/json" } });
    expect(await response.json()).toEqual({ name: "Ann" });
  });

  it("ignores a request that was answered elsewhere meanwhile, and returns what it took", async () => {
    const clock = new ManualClock(60_000_000);
    const limiter = rateLimiter(rules, { store: new SlowStore(clock, 1000), clock });
    const reached: string[] = [];
    const app = express().use(
      (_request, response, next) => {
        next();
        response.status(503).send("took too long");
      },
      rateLimit(limiter, { rules: "api", refundOn: "aborted" }),
      () => reached.push("the handler"),
    );
    expect(await (await fetch(await serve(app))).text()).toBe("took too long");
    await clock.advance(1000);
    const standing = limiter.peek("api", "ip:127.0.0.1");
    await clock.advance(1000);
    expect((await standing).remaining).toBe(2);
    expect(reached).toEqual([]);
  });
});

describe("a server without Express", () => {
  it("is limited all the same", async () => {
    const { limiter } = testLimiter({ one: fixedWindow("1/m") });
    const limit = rateLimit(limiter, { rules: "one", by: (request: IncomingMessage) => request.headers.host });
    const url = await serve((request, response) => limit(request, response, () => response.end("ok")));
    expect(await (await fetch(url)).text()).toBe("ok");
    expect((await fetch(url)).status).toBe(429);
  });
});

describe("the types of the Express door", () => {
  const { limiter } = testLimiter(rules);

  it("know the request and the rules", () => {
    rateLimit(limiter, { rules: "api", by: (request) => request.get("x-team"), cost: ({ body }) => body.cost });
    // @ts-expect-error no such rule
    expect(() => rateLimit(limiter, "apy")).toThrow("apy");
    // @ts-expect-error no such rule
    expect(() => rateLimit(limiter, { rules: ["api", "apy"] })).toThrow("apy");
    // @ts-expect-error no such option
    expect(() => rateLimit(limiter, { rules: "api", onDeny: () => {} })).toThrow("onDeny");
  });

  it("fit Express, whatever is in a route", () => {
    const app = express();
    app.get("/users/:id", rateLimit(limiter, "api"), (request) => {
      expectTypeOf(request.params.id).toBeString();
      expectTypeOf(request.rateLimit).toEqualTypeOf<Passed | undefined>();
    });
    expectTypeOf(rateLimit(limiter, "api")).toExtend<RequestHandler>();
  });
});
