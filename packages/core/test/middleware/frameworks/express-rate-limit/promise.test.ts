import { EventEmitter } from "node:events";
import type { Request, Response } from "express";
import { describe, expect, it, vi } from "vitest";
import { rateLimit, type Store } from "../../../../src/middleware/express-rate-limit.ts";
import { silent } from "./observe.ts";

/** A request and a response that are just enough for the middleware. */
function exchange() {
  const request = { ip: "127.0.0.1", headers: {}, app: { get: () => false } };
  const response = Object.assign(new EventEmitter(), { statusCode: 200, writableEnded: false, setHeader: vi.fn() });
  return { request: request as unknown as Request, response: response as unknown as Response };
}

/** A store that notes what it is asked. */
function noting(asked: string[]): Store {
  return {
    async increment() {
      asked.push("increment");
      return { totalHits: 1, resetTime: undefined };
    },
    decrement: () => void asked.push("decrement"),
    resetKey() {},
  };
}

describe("the middleware", () => {
  it("returns a promise that resolves once the request has been passed on", async () => {
    const { request, response } = exchange();
    const next = vi.fn();
    await rateLimit({ logger: silent })(request, response, next);
    expect(next.mock.calls).toEqual([[]]);
  });

  it("returns a promise that resolves once the request has been denied", async () => {
    const { request, response } = exchange();
    const handler = vi.fn();
    const next = vi.fn();
    await rateLimit({ limit: 0, handler, logger: silent })(request, response, next);
    expect([handler.mock.calls.length, next.mock.calls.length]).toEqual([1, 0]);
  });

  it("gives errors to next, and never rejects", async () => {
    const { request, response } = exchange();
    const next = vi.fn();
    const broken = new Error("broken");
    await rateLimit({ skip: () => Promise.reject(broken), logger: silent })(request, response, next);
    expect(next.mock.calls).toEqual([[broken]]);
  });

  it("takes a hit back if the client leaves before the store has answered", async () => {
    const { request, response } = exchange();
    const asked: string[] = [];
    const limited = rateLimit({ store: noting(asked), skipFailedRequests: true, logger: silent });
    const done = limited(request, response, vi.fn());
    response.emit("close");
    await done;
    expect(asked).toEqual(["increment", "decrement"]);
  });
});

describe("getKey", () => {
  it("throws at once if the store cannot read a key", () => {
    const limited = rateLimit({ store: noting([]), logger: silent });
    expect(() => limited.getKey("ann")).toThrow(expect.objectContaining({ code: "HG_BAD_OPTION", field: "store" }));
  });
});

describe("what is logged", () => {
  it("goes to the console with its message first", async () => {
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    try {
      const down = new Error("down");
      const store = { ...noting([]), increment: () => Promise.reject(down) };
      const { request, response } = exchange();
      await rateLimit({ store, passOnStoreError: true })(request, response, vi.fn());
      expect(error.mock.calls).toEqual([[expect.stringContaining("allowing"), down]]);
    } finally {
      error.mockRestore();
    }
  });

  it.each<[string, () => Promise<void>, string]>([
    [
      "throws",
      () => {
        throw new Error("no");
      },
      "express-rate-limit: error during store initialization.",
    ],
    ["rejects", () => Promise.reject(new Error("no")), "express-rate-limit: async error during store initialization."],
  ])("says that init of a store %s, as express-rate-limit does", async (_how, init, message) => {
    const logger = { error: vi.fn(), warn: vi.fn() };
    rateLimit({ store: { ...noting([]), init }, logger });
    await Promise.resolve();
    expect(logger.error.mock.calls).toEqual([[new Error("no"), message]]);
  });

  it.each<[string, object]>([
    ["ERR_ERL_IPV6_SUBNET", { ipv6Subnet: 48.5 }],
    ["ERR_ERL_IPV6_SUBNET", { ipv6Subnet: 129 }],
    ["ERR_ERL_IPV6_SUBNET", { ipv6Subnet: true }],
    ["ERR_ERL_IPV6_SUBNET", { ipv6Subnet: 128 }],
    ["ERR_ERL_HEADERS_UNSUPPORTED_DRAFT_VERSION", { standardHeaders: "draft-5" }],
  ])("has the code %s for %j", (code, given) => {
    const logger = { error: vi.fn(), warn: vi.fn() };
    rateLimit({ ...given, logger });
    expect(logger.error.mock.calls).toEqual([[expect.objectContaining({ code })]]);
    rateLimit({ ...given, logger, validate: false });
    expect(logger.error).toHaveBeenCalledTimes(1);
  });
});
