import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, type RedisSettings, startRedis } from "headgate-testkit/redis-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RedisStore } from "../../../../src/redis.ts";
import { PATIENT, take } from "./calls.ts";

describe("a Redis that may evict counters", () => {
  let warnings: (Error & { code?: string })[];
  const keep = (warning: Error): void => {
    warnings.push(warning);
  };
  let server: RedisServer;
  let store: RedisStore;
  beforeEach(() => {
    warnings = [];
    process.on("warning", keep);
  });
  afterEach(async () => {
    process.off("warning", keep);
    await store.close();
    await server.stop();
  });

  async function used(url: string): Promise<void> {
    store = new RedisStore(url, PATIENT);
    expect((await take(store, "a")).as).toBe("allowed");
    // The policy was asked for before this, and answers keep the order of the questions.
    expect((await take(store, "a")).as).toBe("allowed");
    await new Promise(setImmediate);
  }

  async function started(settings: RedisSettings): Promise<void> {
    server = await startRedis(settings);
    await used(server.url);
  }

  it.each(["allkeys-lru", "allkeys-random", "volatile-lru", "volatile-ttl"])(
    "warns loudly and once of %s",
    async (policy) => {
      await started({ maxmemory: "100mb", config: { "maxmemory-policy": policy } });
      await eventually("the warning is there", async () => warnings.length > 0);
      await server.ask("CLIENT", "KILL", "TYPE", "normal");
      await eventually("it is connected again", async () => (await take(store, "a")).as === "allowed");
      await take(store, "a");
      expect(warnings.map(({ name, code }) => ({ name, code }))).toEqual([
        { name: "HeadgateWarning", code: "HG_EVICTION" },
      ]);
      expect(warnings[0].message).toContain(policy);
      expect(warnings[0].message).toContain("noeviction");
    },
  );

  it.each<[string, RedisSettings]>([
    ["noeviction", { maxmemory: "100mb", config: { "maxmemory-policy": "noeviction" } }],
    ["no maxmemory, whatever the policy", { config: { "maxmemory-policy": "allkeys-lru" } }],
  ])("says nothing with %s", async (_, settings) => {
    await started(settings);
    expect(warnings).toEqual([]);
  });

  it("says nothing, and works, when it may not ask", async () => {
    server = await startRedis({ maxmemory: "100mb", config: { "maxmemory-policy": "allkeys-lru" } });
    await server.ask("ACL", "SETUSER", "limiter", "on", "nopass", "~*", "+@all", "-info");
    await used(`redis://limiter:any@127.0.0.1:${server.port}`);
    expect(warnings).toEqual([]);
  });
});
