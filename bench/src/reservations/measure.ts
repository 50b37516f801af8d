import { setTimeout as delay } from "node:timers/promises";
import { concurrency, rateLimiter } from "headgate";
import { RedisStore, redisOptions } from "headgate/redis";
import { Redis } from "ioredis";
import { costOf } from "../redis/cost.ts";
import type { Figures, Task } from "../suite.ts";
import { steps } from "./subjects/registry.ts";
import type { Step } from "./subjects/subject.ts";
import { HELD, type Traffic, traffics } from "./traffics.ts";

const LEAST_WARM_UP_MS = 500;
/** Until V8 has optimized the code of a step, it costs more. */
const WARM_UP_STEPS = 10_000;
/** Reservations that are made at the same time. */
const MADE_AT_ONCE = 500;

export async function measureReservations({ experiment, subject, timedMs, address }: Task): Promise<Figures> {
  if (address === undefined) throw new Error("there is no Redis to measure on");
  const redis = new Redis(address);
  // Leftovers of other subjects must not affect this one.
  await redis.flushall();
  if (experiment === HELD.name) return hold(redis, address);
  const traffic = traffics.find(({ name }) => name === experiment);
  if (traffic === undefined) throw new Error(`there is no ${experiment} to measure`);
  const step = await steps[traffic.kind][subject]({ url: address, limit: traffic.limit });
  await load(step, traffic, Math.max(LEAST_WARM_UP_MS, timedMs / 2), WARM_UP_STEPS);
  const { result, elapsedMs, clientMs, redisMs } = await costOf(redis, () => load(step, traffic, timedMs));
  return {
    [experiment]: result / elapsedMs,
    [`${experiment}-client`]: result / clientMs,
    [`${experiment}-redis`]: result / redisMs,
  };
}

/**
 * Callers that each begin the next step when the last one has ended, for some time and at least `leastSteps` times in
 * all. Returns how many steps there were.
 */
async function load(step: Step, { keys, inFlight }: Traffic, ms: number, leastSteps = 0): Promise<number> {
  const names = Array.from({ length: keys }, (_, i) => `user:${i}`);
  const end = performance.now() + ms;
  let count = 0;
  let at = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() < end || count < leastSteps) {
      // A prime, so that all keys come up.
      at = (at + 7_919) % names.length;
      await step(names[at]);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, caller));
  return count;
}

/** Counts commands. */
class CountingRedis extends Redis {
  commands = 0;

  override sendCommand(...args: Parameters<Redis["sendCommand"]>): unknown {
    this.commands += 1;
    return super.sendCommand(...args);
  }
}

/** What it costs to hold slots: for each interval between extensions. */
async function hold(redis: Redis, address: string): Promise<Figures> {
  const client = new CountingRedis(address, redisOptions);
  const store = new RedisStore(client, { timeoutMs: 10_000 });
  await store.ready();
  const limiter = rateLimiter({ slots: concurrency(HELD.slots) }, { store });
  const { keys, slots, forMs, intervals } = HELD;
  let isLost = false;
  const forever = (signal: AbortSignal): Promise<void> => {
    signal.addEventListener("abort", () => {
      isLost = true;
    });
    return new Promise(() => {});
  };
  for (let i = 0; i < slots; i += MADE_AT_ONCE) {
    for (let n = i; n < i + MADE_AT_ONCE; n += 1) void limiter.run("slots", `user:${n % keys}`, forever, { forMs });
    await limiter.peek("slots", "user:0");
  }
  await delay(forMs / 2);
  const before = client.commands;
  const { clientMs, redisMs } = await costOf(redis, () => delay((intervals * forMs) / 4));
  const calls = client.commands - before;
  if (isLost) throw new Error("a slot was lost");
  return {
    [HELD.name]: calls / intervals,
    [`${HELD.name}-client`]: clientMs / intervals,
    [`${HELD.name}-redis`]: redisMs / intervals,
  };
}
