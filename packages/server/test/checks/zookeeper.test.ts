import { startZooKeeper, type ZooKeeperServer } from "headgate-testkit/zookeeper-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openStores, type Stores } from "../../src/checks/counter-stores.ts";
import { request, rule, world } from "./fixtures.ts";

let server: ZooKeeperServer;
let stores: Stores;

beforeAll(async () => {
  server = await startZooKeeper();
  // On a busy machine ZooKeeper may take longer than the default deadline.
  stores = await openStores({ redis: undefined, zookeeper: server.address, nodes: 1, storeTimeoutMs: 30_000 });
  await stores.ready();
});
afterAll(async () => {
  await stores.close();
  await server.stop();
});

describe("checks on ZooKeeper", () => {
  it.each(["strict", "cached", "leased"] as const)(
    "that are %s let no more pass than the limit",
    async (consistency) => {
      const { service } = await world([rule({ consistency, window_seconds: 3_600 })], { stores: async () => stores });
      let passed = 0;
      for (let i = 0; i < 20; i += 1) {
        const { allowed, decisive } = await service.check(request({ identifier: consistency }));
        expect(decisive).toMatchObject({ degraded: false });
        if (allowed) passed += 1;
      }
      expect(passed).toBe(10);
    },
  );
});
