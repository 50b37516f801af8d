import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { afterEach, describe, expect, it } from "vitest";
import { limitFromSpec } from "../../../src/index.ts";
import { Taker, type TakerOptions } from "./taker.ts";
import { useZooKeeper } from "./zookeeper.ts";

const zookeeper = useZooKeeper();
const MINUTE_MS = 60_000;

const takers: Taker[] = [];
afterEach(() => {
  for (const taker of takers.splice(0)) taker.process.kill();
});

function started(options: readonly TakerOptions[]): Promise<Taker[]> {
  return Promise.all(
    options.map(async (each) => {
      const taker = await Taker.start(zookeeper.server.address, each);
      takers.push(taker);
      return taker;
    }),
  );
}

async function inTurn<T, U>(all: readonly T[], what: (each: T) => Promise<U>): Promise<U[]> {
  const results: U[] = [];
  for (const each of all) results.push(await what(each));
  return results;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

describe("four processes that hammer one key", () => {
  it.each(["token_bucket", "sliding_window_log", "fixed_window"])(
    "are admitted exactly as often as the limit says, all together: %s",
    async (algorithm) => {
      const root = zookeeper.newRoot();
      const all = await started([{ root }, { root }, { root }, { root }]);
      const spec = { algorithm, limit: 300, window: 10 * 365 * 86_400 };
      const reports = await Promise.all(
        all.map((taker) => taker.take({ spec, inFlight: 4, forMs: 60_000, untilDenied: true })),
      );
      expect(sum(reports.map(({ allowed }) => allowed))).toBe(300);
      for (const { denied, failed } of reports)
        expect({ asked: denied > 0, failed }).toEqual({ asked: true, failed: 0 });
    },
  );

  it("agree on the time, though the clock of one is a minute ahead and that of another a minute behind", async () => {
    const root = zookeeper.newRoot();
    const all = await started([{ root }, { root, aheadMs: MINUTE_MS }, { root, aheadMs: -MINUTE_MS }]);
    // A window that the first request opens, and that is over for a process whose clock is a minute ahead.
    const spec = { algorithm: "fixed_window", limit: 50, window: 30, anchor: "request" };
    const [first, ahead, behind] = await inTurn(all, (taker) =>
      taker.take({ spec, inFlight: 2, forMs: 60_000, untilDenied: true }),
    );
    expect(first).toMatchObject({ allowed: 50, failed: 0 });
    for (const { allowed, denied, retryAfterMs } of [ahead, behind]) {
      expect({ allowed, isAsked: denied > 0 }).toEqual({ allowed: 0, isAsked: true });
      expect(retryAfterMs).toBeLessThanOrEqual(30_000);
      expect(retryAfterMs).toBeGreaterThan(15_000);
    }
  });
});

describe("a process that is frozen until its session has expired", () => {
  it("continues with a new one, and nothing is admitted twice", async () => {
    const root = zookeeper.newRoot();
    const [sleeper, other] = await started([{ root, sessionTimeoutMs: 500 }, { root }]);
    const spec = { algorithm: "token_bucket", limit: 100_000, window: 10 * 365 * 86_400 };
    const reports = [
      sleeper.take({ spec, inFlight: 4, forMs: 6_000 }),
      other.take({ spec, inFlight: 4, forMs: 3_000 }),
    ];
    await delay(400);
    sleeper.process.pause();
    const asleep = await zookeeper.server.connections();
    await eventually("its session is over", async () => (await zookeeper.server.connections()) === asleep - 1);
    sleeper.process.resume();
    const resumed = Date.now();
    const [slept, awake] = await Promise.all(reports);
    expect(slept.lastMs).toBeGreaterThan(resumed);
    const store = await zookeeper.store({ root });
    const rule = { name: "taken", limit: limitFromSpec(spec) };
    const [{ remaining }] = await store.apply("peek", [{ rule, key: "k", cost: 0 }]);
    const used = 100_000 - Math.round(remaining);
    expect(awake.failed).toBe(0);
    expect(used).toBeGreaterThanOrEqual(slept.allowed + awake.allowed);
    // What the frozen process got no answer to may have been charged: at most what it had in flight.
    expect(used).toBeLessThanOrEqual(slept.allowed + awake.allowed + slept.failed);
    // Four that fail each 10 ms: so it had a new session within a second.
    expect(slept.failed).toBeLessThanOrEqual(4 * 100);
  });
});
