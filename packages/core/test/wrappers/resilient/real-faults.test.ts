import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Decision, fixedWindow, gcra, rateLimiter, resilient } from "../../../src/index.ts";
import { RedisStore, redisOptions } from "../../../src/redis.ts";
import type { ResilientOptions } from "../../../src/wrappers/resilient/resilient-options.ts";

const DEADLINE_MS = 50;
/** Never full, and all in one window: what is left shows what was charged. */
const PLENTY = 1_000_000_000;
const rules = { plenty: fixedWindow({ limit: PLENTY, windowMs: 10 * 365 * 86_400_000 }), few: gcra("10/d") };

let server: RedisServer;
let close: () => Promise<void>;

beforeEach(async () => {
  server = await startRedis();
});

afterEach(async () => {
  await close();
  await server.stop();
});

async function connect(options: ResilientOptions) {
  // Neither the client nor the store gives up within a test: whatever ends a call is the deadline.
  const client = new Redis(server.url, { ...redisOptions, socketTimeout: 60_000 });
  const patient = new RedisStore(client, { timeoutMs: 60_000 });
  const store = resilient(patient, { deadlineMs: DEADLINE_MS, onDegraded: () => {}, ...options });
  close = async () => {
    await store.close();
    client.disconnect();
  };
  const limiter = rateLimiter(rules, { store });
  const isBack = async (): Promise<boolean> =>
    (await limiter.check("few", "is it back?", { cost: 0 })).source === "store";
  await eventually("the store answers", isBack);
  return { store, limiter, isBack };
}

/** How many units of a key were charged, once the store answers again. */
async function charged(limiter: Awaited<ReturnType<typeof connect>>["limiter"]): Promise<number> {
  let remaining = PLENTY;
  // Not at once: on a busy machine the answer of a healthy store may miss the deadline.
  await eventually("the store tells what is left", async () => {
    const stands = await limiter.peek("plenty", "k", { cost: 0 });
    remaining = stands.remaining;
    return stands.source === "store";
  });
  return PLENTY - remaining;
}

interface Call {
  readonly made: number;
  readonly ms: number;
  readonly decision: Decision;
}

/** Many callers at once, each asking again a little after it was answered; `stop` answers all that was answered. */
function load(callers: number, ask: () => Promise<Decision>) {
  const calls: Call[] = [];
  let isOn = true;
  const running = Array.from({ length: callers }, async () => {
    while (isOn) {
      const made = performance.now();
      const decision = await ask();
      calls.push({ made, ms: performance.now() - made, decision });
      await delay(4);
    }
  });
  return {
    calls,
    /** Those that the store answered, of the calls made since a time. */
    byStore: (since = 0): readonly Call[] =>
      calls.filter(({ made, decision }) => made > since && decision.source === "store"),
    async stop(): Promise<void> {
      isOn = false;
      await Promise.all(running);
    },
  };
}

/** Calls that ended at the deadline while the server was well, for the machine was slow: these may have been charged. */
function unlucky(calls: readonly Call[], isWell: (made: number) => boolean): number {
  return calls.filter(({ made, ms, decision }) => {
    return isWell(made) && ms >= DEADLINE_MS - 1 && decision.source === "fallback";
  }).length;
}

describe("a Redis that is frozen for three seconds under load", () => {
  it("keeps no call until its return, and is used again after it", async () => {
    const { store, limiter } = await connect({ onError: "allow" });
    const { calls, byStore, stop } = load(64, () => limiter.check("plenty", "k"));
    await eventually("many calls are answered", async () => byStore().length > 100);
    server.pause();
    const paused = performance.now();
    await delay(3_000);
    server.resume();
    const resumed = performance.now();
    await eventually("the store is used again", async () => byStore(resumed).length > 100, 10_000);
    await stop();

    // The store itself would wait for a minute: only the deadline ends a call while the server is frozen.
    const early = calls.filter(({ made }) => made < paused + 1_000);
    expect(early.filter(({ made, ms }) => made + ms >= resumed)).toEqual([]);
    expect(calls.every(({ decision }) => decision.allowed)).toBe(true);

    const outage = calls.filter(({ made }) => made > paused + 1 && made < resumed - DEADLINE_MS);
    expect(outage.length).toBeGreaterThan(64);
    expect(outage.every(({ decision }) => decision.source === "fallback" && decision.degraded)).toBe(true);
    expect(store.stats.fallbacks.allow).toBeGreaterThanOrEqual(outage.length);

    // Whatever the store has answered is charged, and nothing else; but a batch that Redis had decided in the
    // very moment in which it froze was charged, and its reply came too late.
    const lost = (await charged(limiter)) - byStore().length;
    expect(lost).toBeGreaterThanOrEqual(0);
    expect(lost).toBeLessThanOrEqual(64 + unlucky(calls, (made) => made < paused - DEADLINE_MS || made > resumed));
  });
});

describe("calls to a frozen Redis", () => {
  it("that the fallback answered are not charged when it resumes", async () => {
    // Every call is sent.
    const { store, limiter, isBack } = await connect({ onError: "allow", breaker: { failures: 1_000 } });
    server.pause();
    const frozen = await Promise.all(Array.from({ length: 200 }, () => limiter.check("plenty", "k")));
    expect(frozen.every(({ source }) => source === "fallback")).toBe(true);
    expect(store.stats.failures.HG_STORE_TIMEOUT).toBeGreaterThanOrEqual(200);
    await delay(100);
    server.resume();
    await eventually("the store is back", isBack);
    expect(await charged(limiter)).toBe(0);
  });
});

describe("a Redis that is killed", () => {
  const onError = { default: "allow", rules: { few: "local" } } as const;

  it("leaves the policies in force, and is used again after its restart", async () => {
    const { store, limiter, isBack } = await connect({ onError, nodes: 2 });
    const { calls, byStore, stop } = load(32, () => limiter.check("plenty", "k"));
    await eventually("many calls are answered", async () => byStore().length > 100);
    await server.kill();
    const down = performance.now();
    let up = Number.POSITIVE_INFINITY;
    /** Whether a call began and ended between the kill and the restart. */
    const isOutage = ({ made, ms }: Call): boolean => made > down && made + ms < up;
    await eventually("the breaker opens", async () => store.stats.breaker === "open");
    const few = [];
    for (let i = 0; i < 10; i += 1) few.push((await limiter.check("few", "k")).allowed);
    // Five of ten are the share of this process.
    expect(few).toEqual([true, true, true, true, true, false, false, false, false, false]);
    await eventually("many calls are answered in its place", async () => calls.filter(isOutage).length > 500);
    up = performance.now();
    await server.restart();
    await eventually("the store is back", isBack, 10_000);
    await eventually("the store is used again", async () => byStore(up).length > 100, 10_000);
    await stop();

    expect(calls.filter(isOutage).every(({ decision }) => decision.allowed && decision.source === "fallback")).toBe(
      true,
    );
    // It kept nothing over the restart: what is charged now was answered since.
    const lost = (await charged(limiter)) - byStore(down).length;
    expect(lost).toBeGreaterThanOrEqual(0);
    expect(lost).toBeLessThanOrEqual(unlucky(calls, (made) => made > up - DEADLINE_MS));
  });

  it("fails at once, so that no call waits for the deadline", async () => {
    const { store, limiter } = await connect({
      onError: "deny",
      breaker: { failures: 1_000_000 },
      deadlineMs: 60_000,
    });
    await server.kill();
    await limiter.check("plenty", "k");
    for (let i = 0; i < 100; i += 1) expect(await limiter.check("plenty", "k")).toMatchObject({ allowed: false });
    expect(store.stats.failures.HG_STORE_TIMEOUT ?? 0).toBe(0);
  });
});
