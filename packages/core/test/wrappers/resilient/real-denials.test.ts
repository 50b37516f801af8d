import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fixedWindow, type ResilientStore, rateLimiter, resilient } from "../../../src/index.ts";
import { RedisStore } from "../../../src/redis.ts";
import type { Policy } from "../../../src/wrappers/resilient/on-error.ts";

const LIMIT = 20;
// A window that does not end during the test, wherever in it the test starts.
const rules = { api: fixedWindow({ limit: LIMIT, windowMs: 10 * 365 * 86_400_000 }) };

let server: RedisServer;
let store: ResilientStore;

beforeEach(async () => {
  server = await startRedis();
});

afterEach(async () => {
  server.resume();
  await store.close();
  await server.stop();
});

async function connect(onError: Policy, nodes: number) {
  store = resilient(new RedisStore(server.url), { onError, nodes, onDegraded: () => {} });
  const limiter = rateLimiter(rules, { store });
  await eventually("the store answers", async () => (await limiter.peek("api", "warm up")).source === "store");
  return limiter;
}

it.each(["local", "allow", "deny"] as const)(
  "a frozen Redis does not free a key that it denied: %s",
  async (onError) => {
    const limiter = await connect(onError, 2);
    for (let i = 0; i < LIMIT; i += 1) expect(await limiter.check("api", "k")).toMatchObject({ allowed: true });
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: false, source: "store" });
    server.pause();
    for (let i = 0; i < 50; i += 1) {
      expect(await limiter.check("api", "k")).toMatchObject({ allowed: false, source: "fallback", degraded: true });
    }
    server.resume();
    await eventually("the store is back", async () => (await limiter.peek("api", "k")).source === "store");
    expect(await limiter.check("api", "k")).toMatchObject({ allowed: false });
  },
);

it("a frozen Redis gives no key a fresh share", async () => {
  const limiter = await connect("local", 2);
  for (let i = 0; i < 14; i += 1) await limiter.check("api", "k");
  server.pause();
  const inOutage = [];
  for (let i = 0; i < 20; i += 1) inOutage.push(await limiter.check("api", "k"));
  expect(inOutage.every(({ source }) => source === "fallback")).toBe(true);
  // 6 were left, and there are two processes.
  expect(inOutage.filter(({ allowed }) => allowed)).toHaveLength(3);
});
