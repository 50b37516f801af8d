import { ipKeyGenerator, type Store } from "../../../../src/middleware/express-rate-limit.ts";
import { type Behaviour, type Given, ok, type Site, sayError } from "./observe.ts";

/** Requests, one after another, to a server that is limited so. */
function requests(count: number, given?: Given): Behaviour {
  return async ({ app, rateLimit, get }) => {
    app.use(rateLimit(given), ok);
    for (let i = 0; i < count; i += 1) await get();
  };
}

function behindProxy(given: Given, ...addresses: readonly string[]): Behaviour {
  return async ({ app, rateLimit, get }) => {
    app.set("trust proxy", 1);
    app.use(rateLimit(given), ok);
    for (const address of addresses) await get("/", { "x-forwarded-for": address });
  };
}

/** Requests to paths that name the status which the handler answers. */
function answering(given: Given, ...paths: readonly string[]): Behaviour {
  return async ({ app, rateLimit, get, quiet }) => {
    app.get("/:status", rateLimit(given), (request, response) => {
      const { status } = request.params;
      response.status(Number(status)).end();
    });
    for (const path of paths) {
      await get(path);
      await quiet();
    }
  };
}

/** The simplest possible store: it has no reset time and none of the optional methods. */
function plainStore(): Store & { readonly calls: string[] } {
  const hits = new Map<string, number>();
  const calls: string[] = [];
  return {
    calls,
    init({ windowMs }: { readonly windowMs: number }) {
      calls.push(`init ${windowMs}`);
    },
    increment(key) {
      calls.push(`increment ${key}`);
      hits.set(key, (hits.get(key) ?? 0) + 1);
      return { totalHits: hits.get(key) ?? 0, resetTime: undefined };
    },
    decrement(key) {
      calls.push(`decrement ${key}`);
      hits.set(key, (hits.get(key) ?? 0) - 1);
    },
    resetKey(key) {
      calls.push(`resetKey ${key}`);
      hits.delete(key);
    },
  };
}

const brokenStore = (): Store => ({
  increment: () => Promise.reject(new Error("no store")),
  decrement() {},
  resetKey() {},
});

async function failing(given: Given, { app, rateLimit, get }: Site): Promise<void> {
  app.use(rateLimit({ store: brokenStore(), ...given }), ok, sayError);
  await get();
}

/** A promise, and what keeps it. */
function later<Value>(): { readonly promise: Promise<Value>; readonly resolve: (value: Value) => void } {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((keep) => {
    resolve = keep;
  });
  return { promise, resolve };
}

const byHeader: Given["keyGenerator"] = (request) => request.get("x-key") ?? "nobody";
const boom = (): never => {
  throw new Error("boom");
};

/** What express-rate-limit documents: each with the statuses that it must answer. */
export const behaviours: readonly (readonly [name: string, statuses: readonly number[], behaviour: Behaviour])[] = [
  ["passes five in a minute unless told otherwise", [200, 200, 200, 200, 200, 429], requests(6)],
  ["takes limit", [200, 200, 429], requests(3, { limit: 2 })],
  ["takes max for limit", [200, 429], requests(2, { max: 1 })],
  ["prefers limit to max", [200, 200, 429], requests(3, { limit: 2, max: 1 })],
  [
    "takes an option that is undefined for none",
    [200, 429],
    requests(2, { limit: 1, ...({ message: undefined } as object) }),
  ],
  ["passes nothing with a limit of 0", [429, 429], requests(2, { limit: 0 })],
  [
    "passes everything without end",
    [200, 200, 200],
    requests(3, { limit: Number.POSITIVE_INFINITY, legacyHeaders: false }),
  ],
  [
    "has a limit for each request",
    [200, 429, 200, 200, 429],
    async ({ app, rateLimit, get }) => {
      const limit: Given["limit"] = async (request) => (request.get("x-key") === "vip" ? 2 : 1);
      app.use(rateLimit({ limit, keyGenerator: byHeader }), ok);
      for (const key of ["a", "a", "vip", "vip", "vip"]) await get("/", { "x-key": key });
    },
  ],
  [
    "has windows that the first request opens and that end to the millisecond",
    [200, 200, 429, 429, 200, 200, 429],
    async ({ app, rateLimit, get, pass }) => {
      app.use(rateLimit({ limit: 2, windowMs: 10_000, standardHeaders: "draft-7" }), ok);
      await get();
      pass(4_000);
      await get();
      pass(5_000);
      await get();
      pass(999);
      await get();
      pass(1);
      await get();
      pass(9_000);
      await get();
      await get();
    },
  ],
  [
    "tells windows of a fraction of a second",
    [200, 429],
    requests(2, { limit: 1, windowMs: 1_500, standardHeaders: true }),
  ],
  ["sends a text", [200, 429], requests(2, { limit: 1, message: "slow down" })],
  ["sends an object", [200, 429], requests(2, { limit: 1, message: { code: 7, why: "too fast" } })],
  ["sends what a function says", [200, 429], requests(2, { limit: 1, message: async () => ({ told: "later" }) })],
  [
    "leaves it to a function of the message to answer",
    [200, 429],
    requests(2, {
      limit: 1,
      message: (_request, response) => response.end("answered"),
    }),
  ],
  ["sends another status", [200, 503], requests(2, { limit: 1, statusCode: 503 })],
  [
    "leaves refusals to a handler, with the options",
    [200, 418],
    requests(2, {
      limit: 1,
      handler: (_request, response, _next, { statusCode, windowMs, message }) =>
        response.status(418).json({ statusCode, windowMs, message }),
    }),
  ],
  [
    "leaves it to a handler to pass",
    [200, 200],
    requests(2, { limit: 1, handler: (_request, _response, next) => next() }),
  ],
  [
    "sends the error of a handler to the next one",
    [200, 500],
    async ({ app, rateLimit, get }) => {
      app.use(rateLimit({ limit: 1, handler: boom }), ok, sayError);
      await get();
      await get();
    },
  ],
  ["sends no headers", [200, 429], requests(2, { limit: 1, legacyHeaders: false })],
  ["takes headers for legacyHeaders", [200, 429], requests(2, { limit: 1, headers: false })],
  ...(["draft-6", "draft-7", "draft-8", true] as const).map(
    (standardHeaders) =>
      [
        `sends the headers of ${standardHeaders}`,
        [200, 200, 429],
        requests(3, { limit: 2, standardHeaders, legacyHeaders: false }),
      ] as const,
  ),
  ...[1_000, 1_500, 59_999, 60_000, 90_000, 3_600_000, 7_200_000, 86_400_000, 172_800_000].map(
    (windowMs) =>
      [
        `names a limit of ${windowMs} ms`,
        [200, 429],
        requests(2, { limit: 1, windowMs, standardHeaders: "draft-8" }),
      ] as const,
  ),
  ["takes the name that it is given", [200], requests(1, { standardHeaders: "draft-8", identifier: "mine" })],
  [
    "takes the name that a function says",
    [200],
    requests(1, { standardHeaders: "draft-8", identifier: async () => "yours" }),
  ],
  [
    "tells several limits in one header",
    [200, 429],
    async ({ app, rateLimit, get }) => {
      app.use(
        rateLimit({ limit: 1, standardHeaders: "draft-8", identifier: "a", requestPropertyName: "a" }),
        rateLimit({ limit: 5, standardHeaders: "draft-8", identifier: "b", windowMs: 1000 }),
        ok,
      );
      await get();
      await get();
    },
  ],
  ["says another Retry-After", [200, 429], requests(2, { limit: 1, retryAfter: 7 })],
  ["says the Retry-After of a function", [200, 429], requests(2, { limit: 1, retryAfter: async () => 8 })],
  [
    "puts how it stands into the request",
    [200, 200, 429],
    async ({ app, rateLimit, get, pass }) => {
      const say: Given["handler"] = (request, response) => {
        const info: unknown = Reflect.get(request, "quota");
        response.status(response.statusCode).json({ info, current: Reflect.get(Object(info), "current") });
      };
      const handler: Given["handler"] = (request, response, next, options) => {
        response.status(429);
        say(request, response, next, options);
      };
      app.use(rateLimit({ limit: 2, requestPropertyName: "quota", handler }), (request, response, next) => {
        say(request, response, next, { statusCode: 0, windowMs: 0, message: "" });
      });
      await get();
      pass(1_234);
      await get();
      await get();
    },
  ],
  [
    "skips",
    [200, 200, 200, 429],
    async ({ app, rateLimit, get }) => {
      app.use(rateLimit({ limit: 1, skip: async ({ path }) => path === "/health" }), ok);
      for (const path of ["/health", "/health", "/", "/"]) await get(path);
    },
  ],
  [
    "counts by a key",
    [200, 200, 429, 200],
    async ({ app, rateLimit, get }) => {
      app.use(rateLimit({ limit: 1, keyGenerator: byHeader, standardHeaders: "draft-8" }), ok);
      for (const key of ["a", "b", "a", "__proto__"]) await get("/", { "x-key": key });
    },
  ],
  [
    "counts by a number",
    [200, 200, 429],
    async ({ app, rateLimit, get }) => {
      const keyGenerator = ((request: { get(name: string): string }) => Number(request.get("x-key"))) as unknown;
      app.use(rateLimit({ limit: 1, keyGenerator: keyGenerator as NonNullable<Given["keyGenerator"]> }), ok);
      for (const key of ["1", "2", "1"]) await get("/", { "x-key": key });
    },
  ],
  [
    "counts by an address in a key",
    [200, 429],
    behindProxy(
      { limit: 1, keyGenerator: async ({ ip = "" }) => ipKeyGenerator(ip, 48), standardHeaders: "draft-8" },
      "2001:db8:1:1::1",
      "2001:db8:1:2::1",
    ),
  ],
  [
    "counts IPv4 addresses",
    [200, 200, 429, 429],
    behindProxy({ limit: 1 }, "1.2.3.4", "1.2.3.5", "1.2.3.4", "::ffff:1.2.3.4"),
  ],
  [
    "counts IPv6 addresses by /56",
    [200, 429, 200],
    behindProxy({ limit: 1, standardHeaders: "draft-8" }, "2001:db8:1:1::1", "2001:db8:1:ff::2", "2001:db8:1:100::1"),
  ],
  [
    "counts IPv6 addresses by another network",
    [200, 200, 429],
    behindProxy({ limit: 1, ipv6Subnet: 64 }, "2001:db8:1:1::1", "2001:db8:1:2::1", "2001:db8:1:2::ff"),
  ],
  [
    "counts each IPv6 address on its own",
    [200, 200, 429],
    behindProxy({ limit: 1, ipv6Subnet: false }, "2001:db8::1", "2001:db8::2", "2001:db8::1"),
  ],
  [
    "counts IPv6 addresses by what a function says",
    [200, 200],
    behindProxy({ limit: 1, ipv6Subnet: async () => 60 }, "2001:db8:1:1::1", "2001:db8:1:11::1"),
  ],
  [
    "does not count requests that fail",
    [500, 404, 200, 429, 429],
    answering({ limit: 1, skipFailedRequests: true }, "/500", "/404", "/200", "/200", "/200"),
  ],
  [
    "does not count requests that succeed",
    [200, 302, 500, 429],
    answering({ limit: 1, skipSuccessfulRequests: true, message: "" }, "/200", "/302", "/500", "/200"),
  ],
  [
    "is told which requests succeed",
    [404, 404, 200, 429],
    answering(
      { limit: 1, skipSuccessfulRequests: true, requestWasSuccessful: async (_, { statusCode }) => statusCode === 404 },
      "/404",
      "/404",
      "/200",
      "/404",
    ),
  ],
  [
    "does not count a client that left, if failures do not count",
    [200, 429],
    async ({ app, rateLimit, get, leave }) => {
      app.get(
        "/slow",
        rateLimit({ limit: 1, skipFailedRequests: true, keyGenerator: () => "all" }),
        (_, response, next) => {
          if (response.req.url.endsWith("quick")) next();
        },
        ok,
      );
      await leave("/slow");
      await get("/slow?quick");
      await get("/slow?quick");
    },
  ],
  [
    "counts a client that left, if failures count",
    [429],
    async ({ app, rateLimit, get, leave }) => {
      app.get("/slow", rateLimit({ limit: 1 }), () => {});
      await leave("/slow");
      await get("/slow");
    },
  ],
  [
    "does not give back what a window has forgotten",
    [200, 200, 429],
    async ({ app, rateLimit, get, pass, quiet }) => {
      const known = later<boolean>();
      app.get(
        "/",
        rateLimit({
          limit: 1,
          windowMs: 1_000,
          skipSuccessfulRequests: true,
          requestWasSuccessful: ({ url }) => url.endsWith("late") && known.promise,
        }),
        ok,
      );
      await get("/?late");
      pass(1_000);
      await get();
      known.resolve(true);
      await quiet();
      await get();
    },
  ],
  [
    "does not count a client that left while the store was asked, if failures do not count",
    [],
    async ({ app, rateLimit, note, leave, quiet }) => {
      const asked = later<void>();
      const { calls, ...store } = plainStore();
      const increment: Store["increment"] = async (key) => {
        await asked.promise;
        return store.increment(key);
      };
      app.use(rateLimit({ store: { ...store, increment }, skipFailedRequests: true }), () => {});
      await leave("/");
      asked.resolve();
      await quiet();
      note(calls);
    },
  ],
  ["sends the error of a store to the next handler", [500], (site) => failing({}, site)],
  ["passes while the store fails, if told to", [200], (site) => failing({ passOnStoreError: true }, site)],
  ...(["skip", "keyGenerator", "limit", "identifier"] as const).map(
    (option) =>
      [
        `sends the error of ${option} to the next handler`,
        [500],
        async ({ app, rateLimit, get }: Site) => {
          app.use(rateLimit({ [option]: boom, standardHeaders: "draft-8" }), ok, sayError);
          await get();
        },
      ] as const,
  ),
  [
    "tells how a key stands, and forgets it",
    [200, 200, 429, 200],
    async ({ app, rateLimit, get, note, pass }) => {
      const limit = rateLimit({ limit: 2, keyGenerator: () => "all" });
      app.use(limit, ok);
      note(await limit.getKey("all"));
      await get();
      pass(500);
      await get();
      note(await limit.getKey("all"));
      await get();
      await limit.resetKey("all");
      note(await limit.getKey("all"));
      await get();
      pass(60_000);
      note(await limit.getKey("all"));
    },
  ],
  [
    "counts in a store of one's own",
    [200, 429, 200, 200, 429],
    async ({ app, rateLimit, get, note, quiet }) => {
      const store = plainStore();
      const limit = rateLimit({
        limit: 1,
        store,
        windowMs: 5_000,
        standardHeaders: "draft-7",
        skipFailedRequests: true,
      });
      app.use(limit, ok);
      await get();
      await get();
      await quiet();
      await limit.resetKey("127.0.0.1");
      await get();
      await limit.resetKey("127.0.0.1");
      await get();
      await get();
      await quiet();
      note(store.calls);
    },
  ],
  [
    "counts in a store of old",
    [200, 429],
    async ({ app, rateLimit, get }) => {
      let hits = 0;
      const store = {
        incr(_key: string, callback: (error: undefined, hits: number, reset: Date) => void) {
          hits += 1;
          callback(undefined, hits, new Date(Date.now() + 30_000));
        },
        decrement() {},
        resetKey() {},
      };
      app.use(rateLimit({ limit: 1, store }), ok);
      await get();
      await get();
    },
  ],
  [
    "sends the error of a store of old to the next handler",
    [500],
    async ({ app, rateLimit, get }) => {
      const incr = (_key: string, callback: (error: Error, hits: number, reset: undefined) => void): void =>
        callback(new Error("old store"), 0, undefined);
      app.use(rateLimit({ store: { incr, decrement() {}, resetKey() {} } }), ok, sayError);
      await get();
    },
  ],
  [
    "says what looks like a mistake, once",
    [200, 200],
    async ({ app, rateLimit, get, note }) => {
      const error = (problem: unknown): void => note((problem as { code: string }).code);
      app.use(rateLimit({ logger: { error, warn: error } }), ok);
      const headers = { "x-forwarded-for": "1.2.3.4", forwarded: "for=1.2.3.4" };
      await get("/", headers);
      await get("/", headers);
    },
  ],
  [
    "says nothing of what it is told not to look at",
    [200],
    async ({ app, rateLimit, get, note }) => {
      const error = (problem: unknown): void => note((problem as { code: string }).code);
      app.use(rateLimit({ logger: { error, warn: error }, validate: { xForwardedForHeader: false } }), ok);
      await get("/", { "x-forwarded-for": "1.2.3.4", forwarded: "for=1.2.3.4" });
    },
  ],
  [
    "says that each client chooses its address, if all proxies are trusted",
    [200],
    async ({ app, rateLimit, get, note }) => {
      app.set("trust proxy", true);
      const error = (problem: unknown): void => note((problem as { code: string }).code);
      app.use(rateLimit({ logger: { error, warn: error } }), ok);
      await get("/", { "x-forwarded-for": "1.2.3.4:5678" });
    },
  ],
  [
    "says that a key takes addresses as they are",
    [200],
    async ({ app, rateLimit, get, note }) => {
      const error = (problem: unknown): void => note((problem as { code: string }).code);
      app.use(
        rateLimit({ logger: { error, warn: error }, ipv6Subnet: 64, keyGenerator: (request) => `${request.ip}` }),
        ok,
      );
      await get();
    },
  ],
  [
    "says that it was made for a request",
    [200],
    async ({ app, rateLimit, get, note }) => {
      const error = (problem: unknown): void => note((problem as { code: string }).code);
      app.use((request, response, next) => {
        rateLimit({ logger: { error, warn: error } })(request, response, next);
      }, ok);
      await get();
    },
  ],
];
