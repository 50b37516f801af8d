import { eventually } from "headgate-testkit/eventually";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fixedWindow, type LeasedStore, leased, rateLimiter, tokenBucket } from "../../../../src/index.ts";
import { RedisStore } from "../../../../src/redis.ts";
import { useRedis } from "../../../stores/redis/redis.ts";
import { sleep, windowWithRoom } from "./admissions.ts";

const HOUR_MS = 3_600_000;
const KEY = "user:1";
const redis = useRedis();

/** Nodes that share a Redis, the third of which is soon idle; and a limiter without leases that sees what is in the pool. */
let nodes: { store: LeasedStore; limiter: ReturnType<typeof limiterOver> }[];
let bare: ReturnType<typeof limiterOver>;
let stores: RedisStore[];

function limiterOver(store: LeasedStore | RedisStore) {
  return rateLimiter({ api: hourly(1_000), login: tokenBucket("5/h") }, { store });
}

function hourly(limit: number) {
  return fixedWindow({ limit, windowMs: HOUR_MS });
}

beforeEach(async () => {
  await windowWithRoom(HOUR_MS, 20_000);
  const prefix = redis.newPrefix();
  const pool = (): RedisStore => {
    const store = new RedisStore(redis.server.url, { prefix });
    stores.push(store);
    return store;
  };
  stores = [];
  nodes = [60_000, 60_000, 300].map((idleMs) => {
    const store = leased(pool(), { rules: ["api"], promoteAfter: 1, base: 100, idleMs });
    return { store, limiter: limiterOver(store) };
  });
  bare = limiterOver(pool());
});
afterEach(async () => {
  await Promise.all(nodes.map(({ store }) => store.close()));
  await Promise.all(stores.map((store) => store.close()));
});

async function left(): Promise<number> {
  return (await bare.peek("api", KEY)).remaining;
}

function held(node: number): number {
  return nodes[node].store.leaseOf("api", KEY)?.held ?? 0;
}

/** How many of this number of requests passed. */
async function take(node: number, times: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < times; i += 1) if ((await nodes[node].limiter.check("api", KEY)).allowed) passed += 1;
  return passed;
}

/** How many passed until both nodes were denied. */
async function drain(): Promise<number> {
  let passed = 0;
  for (let more = 1; more > 0; passed += more) more = (await take(0, 200)) + (await take(1, 200));
  return passed;
}

it("close() returns everything that is held", async () => {
  await take(0, 10);
  await take(1, 10);
  expect(held(0)).toBeGreaterThan(0);
  await Promise.all(nodes.map(({ store }) => store.close()));
  expect(await left()).toBe(980);
});

it("close() also returns a grant in flight", async () => {
  await take(0, 1);
  // The next batch is fetched when a fifth is left.
  while (held(0) > 21) await take(0, 1);
  const spent = 1_000 - held(0) - (await left());
  nodes[0].store.apply("take", [{ rule: { name: "api", limit: nodes[0].limiter.limitOf("api") }, key: KEY, cost: 1 }]);
  await nodes[0].store.close();
  expect(await left()).toBe(1_000 - spent - 1);
});

it("an idle node returns everything, and takes again at the next request", async () => {
  await take(2, 10);
  expect(await left()).toBeLessThan(950);
  await eventually("all is back", async () => (await left()) === 990, 5_000);
  expect(await take(2, 5)).toBe(5);
});

it("a smaller limit holds for both nodes from then on, and what was held of the larger goes back", async () => {
  await take(0, 10);
  await take(1, 10);
  for (const { limiter } of nodes) limiter.setLimit("api", hourly(50));
  bare.setLimit("api", hourly(50));
  await eventually("what was held of the larger is back", async () => (await left()) === 30, 5_000);
  expect(await drain()).toBe(30);
  expect(await left()).toBe(0);
});

it("quota held for a longer window is not used for a shorter one", async () => {
  await take(0, 10);
  await take(1, 10);
  const windowMs = 2_000;
  for (const { limiter } of nodes) limiter.setLimit("api", fixedWindow({ limit: 50, windowMs }));
  // In a new window, for the one in which the limit changes counts all that was taken of the old.
  const window = await windowWithRoom(windowMs, windowMs);
  expect([await take(0, 60), await take(1, 60), await take(0, 10)]).toEqual([50, 0, 0]);
  expect(Math.floor(Date.now() / windowMs)).toBe(window);
});

it("a larger limit adds its difference", async () => {
  expect(await drain()).toBe(1_000);
  for (const { limiter } of nodes) limiter.setLimit("api", hourly(1_500));
  expect(await drain()).toBe(500);
});

it("a node with the larger limit still admits while another finds the pool empty under the smaller one", async () => {
  nodes[0].limiter.setLimit("api", hourly(5_000));
  expect(await take(0, 10)).toBe(10);
  expect(await take(1, 1_000)).toBeLessThan(1_000);
  // By then it has heard of it.
  await sleep(100);
  expect(await take(0, 500)).toBe(500);
});

it("a reset fills the pool for all nodes, and what they held is worth nothing", async () => {
  await take(0, 300);
  await take(1, 300);
  await nodes[0].limiter.reset("api", KEY);
  await eventually("the other has heard of it", async () => held(1) === 0, 5_000);
  expect(await drain()).toBe(1_000);
});

it("a denied request passes after a refund", async () => {
  expect(await drain()).toBe(1_000);
  await nodes[0].limiter.refund("api", KEY, { cost: 7 });
  await eventually("the other is let in", async () => (await take(1, 1)) === 1, 5_000);
  expect(await drain()).toBe(6);
});

it("a request under a leased rule and another is charged to both or to none", async () => {
  await take(0, 10);
  const before = held(0) + (await left());
  const verdicts = [];
  for (let i = 0; i < 8; i += 1) {
    verdicts.push(
      await nodes[0].limiter.checkAll([
        { rule: "api", key: KEY },
        { rule: "login", key: KEY },
      ]),
    );
  }
  expect(verdicts.map(({ allowed }) => allowed)).toEqual([true, true, true, true, true, false, false, false]);
  expect(held(0) + (await left())).toBe(before - 5);
});
