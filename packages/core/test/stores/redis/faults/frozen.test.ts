import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RedisStore } from "../../../../src/redis.ts";
import { eventually } from "../../../servers/eventually.ts";
import { type RedisServer, startRedis } from "../../../servers/redis-server.ts";
import { charged, counts, Traffic, take } from "./calls.ts";

describe("a Redis that is frozen for 3 s under load", () => {
  let server: RedisServer;
  beforeEach(async () => {
    server = await startRedis();
  });
  afterEach(async () => {
    await server.stop();
  });

  it.each([200, 1_000])(
    "calls end as timeouts after timeoutMs (%i) at most, have charged nothing, and are answered within a second of its return",
    async (timeoutMs) => {
      const store = new RedisStore(server.url, { timeoutMs });
      expect((await take(store, "before")).as).toBe("allowed");
      server.pause();
      await delay(10);
      const lag = monitorEventLoopDelay({ resolution: 5 });
      lag.enable();
      const traffic = new Traffic(store, ["asleep"]);
      await delay(2_900 - timeoutMs);
      const calls = await traffic.stop();
      await delay(timeoutMs + 100);
      server.resume();
      const awake = performance.now();
      await eventually("calls are answered", async () => (await take(store, "after")).as === "allowed");
      expect(performance.now() - awake).toBeLessThan(1_000);

      expect(calls.length).toBeGreaterThan(100);
      expect(counts(calls)).toEqual({ HG_STORE_TIMEOUT: calls.length });
      // A busy machine may stop this process for a while: that is no fault of the store's.
      expect(Math.max(...calls.map(({ took }) => took))).toBeLessThan(timeoutMs + 20 + 2 * (lag.max / 1e6));
      expect(await charged(store, "asleep")).toBe(0);
      await store.close();
    },
  );
});
