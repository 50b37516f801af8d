import { describe, expect, it } from "vitest";
import { HeadgateError, resilient } from "../../../../src/index.ts";
import { MemoryStore, type Options, rateLimit, type Store } from "../../../../src/middleware/express-rate-limit.ts";
import {
  type Behaviour,
  dateClock,
  implementations,
  observe,
  ok,
  original,
  type RateLimit,
  sayError,
  silent,
  statuses,
} from "./observe.ts";

const ours = implementations["headgate/express-rate-limit"];

function usedBy(request: object): unknown {
  return Reflect.get(Object(Reflect.get(request, "rateLimit")), "used");
}

/** Returns the state of the request, denied or not. */
function standing(limit: Options["limit"]): Behaviour {
  return async ({ app, rateLimit, get, note }) => {
    const limited = rateLimit({
      limit,
      keyGenerator: () => "all",
      handler: (request, response) => response.status(429).json(usedBy(request)),
    });
    app.use(limited, (request, response) => {
      response.json(usedBy(request));
    });
    for (let i = 0; i < 4; i += 1) await get();
    note((await limited.getKey("all"))?.totalHits);
  };
}

async function bodies(behaviour: Behaviour, rateLimit: RateLimit): Promise<unknown[]> {
  return (await observe(behaviour, rateLimit)).map((each) => (each as { body?: string })?.body ?? each);
}

describe("on purpose, and other than in express-rate-limit,", () => {
  it("a request that is refused is not counted", async () => {
    expect(await bodies(standing(2), original)).toEqual(["1", "2", "3", "4", 4]);
    expect(await bodies(standing(2), ours)).toEqual(["1", "2", "3", "3", 2]);
  });

  it("so one that is refused does not eat into a limit that is raised", async () => {
    const raised = (): Options["limit"] => {
      const limits = [1, 1, 1, 2];
      return () => limits.shift() ?? 0;
    };
    expect(statuses(await observe(standing(raised()), original))).toEqual([200, 429, 429, 429]);
    expect(statuses(await observe(standing(raised()), ours))).toEqual([200, 429, 429, 200]);
  });

  it("a client without a key is counted by address, and not together with all others without one", async () => {
    const nobody: Behaviour = async ({ app, rateLimit, get }) => {
      app.set("trust proxy", 1);
      app.use(rateLimit({ limit: 1, keyGenerator: () => undefined }), ok);
      for (const address of ["1.2.3.4", "1.2.3.5", "1.2.3.4"]) await get("/", { "x-forwarded-for": address });
    };
    expect(statuses(await observe(nobody, original))).toEqual([200, 429, 429]);
    expect(statuses(await observe(nobody, ours))).toEqual([200, 200, 429]);
  });

  it("a key that has been given all back is not known", async () => {
    const store = new MemoryStore({ clock: dateClock });
    const limited = rateLimit({ store, skipFailedRequests: true, keyGenerator: () => "all" });
    await observe(async ({ app, get, quiet, note }) => {
      app.use(limited, (_request, response) => {
        response.status(500).end();
      });
      await get();
      await quiet();
      note(await limited.getKey("all"));
    }).then((seen) => expect(seen[1]).toBeUndefined());
  });

  it("a window may be longer than a timer can be", async () => {
    const month: Behaviour = async ({ app, rateLimit, get, pass }) => {
      app.use(rateLimit({ limit: 1, windowMs: 30 * 86_400_000 }), ok);
      await get();
      pass(30 * 86_400_000 - 1);
      await get();
      pass(1);
      await get();
    };
    expect(statuses(await observe(month, ours))).toEqual([200, 429, 200]);
  });
});

describe("mistakes are refused at the start", () => {
  it.each<[string, object]>([
    ["options.limitt", { limitt: 5 }],
    ["options.onLimitReached", { onLimitReached: () => {} }],
    ["windowMs", { windowMs: 0 }],
    ["windowMs", { windowMs: Number.NaN }],
    ["windowMs", { windowMs: "60000" }],
    ["limit", { limit: Number.NaN }],
    ["limit", { limit: "5" }],
    ["store", { store: "redis://" }],
    ["store", { store: { increment: () => {} } }],
    ["store", { store: storeThat(() => ({ totalHits: 1, resetTime: undefined }), { init: "no function" }) }],
    ["name", { name: "" }],
    ["logger", { logger: { error() {} } }],
    ["skip", { skip: true }],
    ["handler", { handler: "no" }],
  ])("%s", (field, given) => {
    expect(() => rateLimit(given)).toThrow(expect.objectContaining({ code: "HG_BAD_OPTION", field }));
  });

  it("and so is a name that is taken in a store", () => {
    const store = new MemoryStore();
    rateLimit({ store });
    rateLimit({ store, name: "login" });
    expect(() => rateLimit({ store, name: "login" })).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field: "name" }),
    );
  });
});

/** One request, and what the error handler said. */
function once(given: Partial<Options>): Promise<readonly unknown[]> {
  return observe(async ({ app, get }) => {
    app.use(rateLimit({ logger: silent, ...given }), ok, sayError);
    await get();
  });
}

function storeThat(increment: Store["increment"], more: object = {}): Store {
  return { increment, decrement() {}, resetKey() {}, ...more };
}

describe("what cannot be decided goes to the error handler, and does not pass:", () => {
  it.each<[string, Partial<Options>]>([
    ["a limit that is no number", { limit: () => Number.NaN }],
    ["a key that is no string", { keyGenerator: () => ({}) as string }],
    ["a network that is none", { ipv6Subnet: () => 0 }],
    ["a store that tells no number", { store: storeThat(() => ({ totalHits: Number.NaN, resetTime: undefined })) }],
    [
      "a mistake of the caller, whatever passOnStoreError says",
      {
        passOnStoreError: true,
        store: storeThat(() => Promise.reject(new HeadgateError("HG_BAD_KEY", "key", "is bad"))),
      },
    ],
  ])("%s", async (_what, given) => {
    expect(await once(given)).toMatchObject([{ status: 500, body: expect.stringContaining("failed") }]);
  });
});

describe("without a store", () => {
  it("each middleware counts in memory of its own", async () => {
    const seen = await observe(async ({ app, get }) => {
      app.get("/a", rateLimit({ limit: 1 }), ok);
      app.get("/b", rateLimit({ limit: 1 }), ok);
      for (const path of ["/a", "/a", "/b", "/b"]) await get(path);
    });
    expect(statuses(seen)).toEqual([200, 429, 200, 429]);
  });
});

describe("a store that fails", () => {
  it("is answered for by resilient, if it is in that", async () => {
    const failing = { apply: () => Promise.reject(new Error("down")) };
    const store = resilient(failing, { onError: "deny" });
    expect(await once({ store })).toMatchObject([{ status: 429 }]);
    const lenient = resilient(failing, { onError: "allow" });
    expect(await once({ store: lenient })).toMatchObject([{ status: 200, headers: { "x-ratelimit-limit": "5" } }]);
  });

  it("passes and is reported, if configured", async () => {
    const said: unknown[] = [];
    const logger = { error: (error: unknown) => said.push(error), warn() {} };
    const failing = { apply: () => Promise.reject(new Error("down")) };
    expect(await once({ store: failing, passOnStoreError: true, logger })).toMatchObject([{ status: 200 }]);
    expect(said).toMatchObject([{ message: "down" }]);
  });
});
