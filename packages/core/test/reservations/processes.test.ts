import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { afterAll, describe, expect, it } from "vitest";
import { limitFromSpec, rateLimiter } from "../../src/index.ts";
import { RateLimitMiddleware } from "../../src/middleware/middleware.ts";
import { testAdapter } from "../middleware/request.ts";
import { useRedis } from "../stores/redis/redis.ts";
import { Holder } from "./holder.ts";

const redis = useRedis();
/** Longer than a slow machine lets a process wait for its turn. */
const FOR_MS = 2_500;
/** They flow back by themselves in a day only. */
const specs = {
  tokens: { algorithm: "fixed_window", limit: 1_000, window: 86_400, anchor: "request" },
  calls: { algorithm: "sliding_window_log", limit: 100, window: 86_400 },
};
const options = { rules: ["calls", { rule: "tokens", reserve: 60 }], reserveForMs: FOR_MS, proxies: 0 };
const key = "ip:127.0.0.1";

const holders: Holder[] = [];
afterAll(() => {
  for (const holder of holders) holder.process.kill();
});

/** A process that serves, and this one, which lives and has a gate of the same kind. */
async function start() {
  const prefix = redis.newPrefix();
  const rules = { tokens: limitFromSpec(specs.tokens), calls: limitFromSpec(specs.calls) };
  const limiter = rateLimiter(rules, { store: redis.store({ prefix }) });
  new RateLimitMiddleware(
    limiter,
    { rules: { rule: "tokens", reserve: 60 }, reserveForMs: FOR_MS, proxies: 0 },
    testAdapter,
  );
  const holder = await Holder.start(redis.server.url, prefix, specs, options);
  holders.push(holder);
  const used = async (): Promise<[number, number]> => {
    const [tokens, calls] = await Promise.all([limiter.peek("tokens", key), limiter.peek("calls", key)]);
    return [1_000 - tokens.remaining, 100 - calls.remaining];
  };
  const becomes = async (tokens: number): Promise<void> => {
    await eventually(`${tokens} are in use`, async () => (await used())[0] === tokens);
  };
  const open = async (): Promise<number> => (await limiter.store.journal?.list(1))?.length ?? 0;
  return { holder, limiter, used, becomes, open };
}

// All at the same time: most of what they do is wait.
describe.concurrent("a server that is killed between reserve and settle", () => {
  it("has its quota back after its time, exactly; what was settled and what was charged for good stays", async () => {
    const { holder, used, becomes, open } = await start();
    const paths = Array.from({ length: 12 }, (_, i) => `/${i}`);
    for (const path of paths) await holder.reserve(path);
    expect(await used()).toEqual([12 * 60, 12]);
    for (const path of paths.slice(0, 5)) holder.settle(path, 7);
    await becomes(5 * 7 + 7 * 60);
    holder.process.kill();
    await becomes(5 * 7);
    await delay(1.5 * FOR_MS);
    expect(await used()).toEqual([5 * 7, 12]);
    expect(await open()).toBe(0);
  });

  it("keeps it as long as it lives, however long that takes", async () => {
    const { holder, used, becomes } = await start();
    await holder.reserve("/");
    await delay(2 * FOR_MS);
    expect(await used()).toEqual([60, 1]);
    holder.process.kill();
    await becomes(0);
  });
});

describe.concurrent("a server that is frozen past the time of its reservation", () => {
  it("and then resumes is charged what it settles, and nothing is returned twice", async () => {
    await Promise.all(
      [0, 10, 60, 95].map(async (cost) => {
        const { holder, limiter, used, becomes, open } = await start();
        await limiter.check("tokens", key, { cost: 300 });
        await holder.reserve("/");
        holder.process.pause();
        await becomes(300);
        holder.settle("/", cost);
        holder.process.resume();
        await becomes(300 + cost);
        await delay(1.5 * FOR_MS);
        expect(await used()).toEqual([300 + cost, 1]);
        expect(await open()).toBe(0);
      }),
    );
  });
});
