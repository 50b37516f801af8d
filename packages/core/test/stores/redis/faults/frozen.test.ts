import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RedisStore } from "../../../../src/redis.ts";
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
    "calls time out (timeoutMs: %i) while it is frozen, charge nothing, and are answered after its return",
    async (timeoutMs) => {
      const store = new RedisStore(server.url, { timeoutMs });
      await eventually("calls are answered", async () => (await take(store, "before")).as === "allowed");
      server.pause();
      await delay(10);
      const traffic = new Traffic(store, ["asleep"]);
      await delay(2_900 - timeoutMs);
      // Every call ends while the server is still frozen: only its own deadline can have ended it.
      const calls = await traffic.stop();
      await delay(timeoutMs + 100);
      server.resume();
      await eventually("calls are answered", async () => (await take(store, "after")).as === "allowed", 10_000);

      expect(calls.length).toBeGreaterThan(20);
      expect(counts(calls)).toEqual({ HG_STORE_TIMEOUT: calls.length });
      // Later calls may fail at once, since the server is known to be silent; the first has to wait.
      expect(calls[0].took).toBeGreaterThan(timeoutMs / 2);
      // A store of its own: on a busy machine 200 ms may be too short for this answer.
      const reader = new RedisStore(server.url, { timeoutMs: 30_000 });
      expect(await charged(reader, "asleep")).toBe(0);
      await reader.close();
      await store.close();
    },
  );
});
