import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type CachedStore, cached, fixedWindow } from "../../../src/index.ts";
import { RedisStore } from "../../../src/redis.ts";
import { ask, operation, rule } from "../../stores/conformance/context.ts";

const WINDOW_MS = 2_000;
const LIMIT = 100_000;
const large = rule("large", fixedWindow({ limit: LIMIT, windowMs: WINDOW_MS }));
/** For what has to happen within one window, however busy the machine is. */
const LONG_WINDOW_MS = 60_000;
const long = rule("long", fixedWindow({ limit: LIMIT, windowMs: LONG_WINDOW_MS }));

let server: RedisServer;
let redis: RedisStore;
let node: CachedStore;
beforeEach(async () => {
  vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  server = await startRedis();
});
afterEach(async () => {
  server.resume();
  await node.close();
  await server.stop();
});

async function connect(timeoutMs: number): Promise<void> {
  redis = new RedisStore(server.url, { timeoutMs });
  node = cached(redis, { confirm: false, flushMs: 10 });
  // The first answer contains the server's time.
  await ask(node, "peek", large, "warm");
}

async function sleep(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** How far the server's window has got, in milliseconds. */
function position(windowMs = WINDOW_MS): number {
  return (node.clock.now() / 1000) % windowMs;
}

/** The number of the server's window. */
function windowNow(windowMs = WINDOW_MS): number {
  return Math.floor(node.clock.now() / 1000 / windowMs);
}

/** Asks each millisecond or so. Every answer is there at once, without a promise: no request is held up. */
async function traffic(forMs: number, rule = large) {
  const answers = [];
  for (const end = performance.now() + forMs; performance.now() < end; await sleep(1)) {
    const answer = node.apply("take", [operation(rule, "k")]);
    if (!Array.isArray(answer)) throw new Error("had to wait");
    answers.push(answer[0]);
  }
  return answers;
}

it("a frozen Redis delays no request, and charges nothing to a window that has closed when it resumes", async () => {
  // Longer than it is frozen: it is the end of the window that makes the writes void.
  await connect(10_000);
  await sleep(WINDOW_MS - position() + 100);
  const window = windowNow();
  await traffic(200);
  server.pause();
  const answers = await traffic(1_000);
  expect(answers.every(({ allowed }) => allowed)).toBe(true);
  // No more requests; the window ends while Redis is frozen, with writes in its socket.
  await sleep(WINDOW_MS - position() + 50);
  server.resume();
  await sleep(300);
  await eventually("Redis answers again", async () => {
    const answer = await ask(redis, "peek", large, "k").catch(() => undefined);
    return answer?.remaining === LIMIT;
  });
  expect(windowNow()).toBe(window + 1);
});

it("requests during the freeze are written when Redis resumes within the window, and none twice", async () => {
  await connect(200);
  const leftMs = LONG_WINDOW_MS - position(LONG_WINDOW_MS);
  if (leftMs < 20_000) await sleep(leftMs + 100);
  const window = windowNow(LONG_WINDOW_MS);
  server.pause();
  const answers = await traffic(600, long);
  expect(answers[answers.length - 1]).toMatchObject({ allowed: true, degraded: true });
  server.resume();
  await eventually("all is written", async () => node.stats.pendingUnits === 0);
  const { remaining } = await ask(redis, "peek", long, "k");
  const { unconfirmed, closed } = node.stats.droppedUnits;
  expect(windowNow(LONG_WINDOW_MS)).toBe(window);
  expect(closed).toBe(0);
  const written = LIMIT - remaining;
  expect(written).toBeLessThanOrEqual(answers.length);
  expect(written).toBeGreaterThanOrEqual(answers.length - unconfirmed);
  expect(written).toBeGreaterThan(0);
});

it("a killed Redis holds up no request, and is written to again when it is back", async () => {
  await connect(200);
  await server.kill();
  await eventually("it knows that it cannot write", async () => (await traffic(100)).at(-1)?.degraded === true, 10_000);
  await server.restart();
  await eventually(
    "it is no longer degraded",
    async () => {
      const [answer] = await node.apply("take", [operation(large, "k")]);
      return !answer.degraded;
    },
    10_000,
  );
});
