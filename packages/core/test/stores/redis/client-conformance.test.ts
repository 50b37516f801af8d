import { setTimeout } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Cluster, Redis } from "ioredis";
import { Redis as Valkey, Cluster as ValkeyCluster } from "iovalkey";
import { createClient, createCluster } from "redis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { concurrency, type Operation } from "../../../src/index.ts";
import { clusterOptions, RedisStore, redisOptions } from "../../../src/redis.ts";
import { slotOf } from "../../../src/stores/redis/cluster-slots.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { slotConformance } from "../slot-conformance.ts";
import { storeConformance } from "../store-conformance.ts";
import { charged, counts, take } from "./faults/calls.ts";
import { PATIENCE_MS } from "./redis.ts";
import { moveSlot } from "./slot-migration.ts";

type AnyClient = ConstructorParameters<typeof RedisStore>[0];

interface Made {
  readonly client: AnyClient;
  close(): void;
}

interface Library {
  readonly name: string;
  one(server: RedisServer): Made;
  cluster(cluster: RedisCluster): Made;
}

const libraries: readonly Library[] = [
  {
    name: "ioredis",
    one: ({ url }) => closedBy(new Redis(url, redisOptions), (client) => client.disconnect()),
    cluster: ({ addresses }) => closedBy(new Cluster(addresses, clusterOptions), (client) => client.disconnect()),
  },
  {
    name: "iovalkey",
    one: ({ url }) => closedBy(new Valkey(url, redisOptions), (client) => client.disconnect()),
    cluster: ({ addresses }) => closedBy(new ValkeyCluster(addresses, clusterOptions), (client) => client.disconnect()),
  },
  {
    name: "redis",
    one: ({ url }) =>
      closedBy(createClient({ url, disableOfflineQueue: true, socket: { reconnectStrategy: 50 } }), (client) => {
        if (client.isOpen) client.destroy();
      }),
    cluster: ({ addresses }) =>
      closedBy(
        createCluster({
          rootNodes: addresses.map((socket) => ({ socket })),
          defaults: { disableOfflineQueue: true, socket: { reconnectStrategy: 50 } },
        }),
        (client) => {
          if (client.isOpen) client.destroy();
        },
      ),
  },
];

function closedBy<Client extends AnyClient>(client: Client, close: (client: Client) => void): Made {
  return { client, close: () => close(client) };
}

let prefixes = 0;

function storeOn(client: AnyClient, options: ConstructorParameters<typeof RedisStore>[1] = {}): RedisStore {
  prefixes += 1;
  return new RedisStore(client, { prefix: `client${prefixes}`, timeoutMs: PATIENCE_MS, ...options });
}

describe.each(libraries)("a client of $name", (library) => {
  let server: RedisServer;
  let made: Made;
  beforeAll(async () => {
    server = await startRedis();
    made = library.one(server);
  });
  afterAll(async () => {
    made?.close();
    await server?.stop();
  });

  for (const conformance of [storeConformance, slotConformance]) {
    conformance(`RedisStore on ${library.name}`, async () => {
      const store = storeOn(made.client);
      await store.ready();
      return { store };
    });

    conformance(`RedisStore on ${library.name}, by a clock that is given`, () => {
      const clock = new ManualClock(1_700_000_000_123.457);
      return { store: storeOn(made.client, { clock }), clock };
    });
  }

  it("has requests of one tick decided in one call", async () => {
    const store = storeOn(made.client);
    await take(store, "k");
    await server.ask("CONFIG", "RESETSTAT");
    const ends = await Promise.all(Array.from({ length: 20 }, (_, i) => take(store, `k${i}`)));
    expect(counts(ends)).toEqual({ allowed: 20 });
    expect(await server.ask("INFO", "commandstats")).toMatch(/cmdstat_evalsha:calls=1,/);
  });

  it("loads scripts again that the server has flushed", async () => {
    const store = storeOn(made.client);
    await take(store, "k");
    await server.ask("SCRIPT", "FLUSH");
    expect((await take(store, "k")).as).toBe("allowed");
    expect(await charged(store, "k")).toBe(2);
  });

  it("delivers notifications", async () => {
    const store = storeOn(made.client);
    const heard: string[] = [];
    const leave = store.notifications.subscribe("topic", (text) => heard.push(text));
    await eventually("a notification arrives", async () => {
      store.notifications.post("topic", "hello");
      return heard.includes("hello");
    });
    leave();
  });

  it("keeps the journal of reservations", async () => {
    const { journal } = storeOn(made.client);
    await journal.add({ id: "a", text: "reserved: ✓" }, 0);
    expect(await journal.claimOverdue(10, 0)).toMatchObject([{ id: "a", text: "reserved: ✓" }]);
    await journal.end([{ id: "a" }], 0);
    expect(await journal.claimOverdue(10, 0)).toEqual([]);
  });

  it("reports a value of another type for its own request only", async () => {
    const store = storeOn(made.client, { prefix: "strange" });
    await server.ask("RPUSH", "strange:{bad}:counted:fixed_window", "x");
    const [bad, good] = await Promise.all([take(store, "bad"), take(store, "good")]);
    expect([bad.as, good.as]).toEqual(["HG_STORE_REFUSED", "allowed"]);
  });
});

describe.each(libraries)("a client of $name, when its server fails", (library) => {
  let server: RedisServer;
  let made: Made;
  beforeEach(async () => {
    server = await startRedis();
    made = library.one(server);
  });
  afterEach(async () => {
    made.close();
    await server.stop();
  });

  it("fails at once while the server is away, and connects again", async () => {
    const store = storeOn(made.client);
    expect((await take(store, "k")).as).toBe("allowed");
    await server.kill();
    expect((await take(store, "k")).as).toBe("HG_STORE_UNREACHABLE");
    await server.start();
    await eventually("calls are answered", async () => (await take(store, "k")).as === "allowed");
  });

  it("ends calls by their deadline while the server is frozen, and charges nothing for them", async () => {
    const store = storeOn(made.client, { timeoutMs: 1_000 });
    await store.ready();
    expect((await take(store, "k")).as).toBe("allowed");
    server.pause();
    const ends = await Promise.all([take(store, "k"), take(store, "k")]);
    expect(counts(ends)).toHaveProperty("HG_STORE_TIMEOUT");
    // The first call that expires gives up the connection, which may end the other one.
    for (const { as } of [...ends, await take(store, "k")]) expect(as).toMatch(/^HG_STORE_(TIMEOUT|UNREACHABLE)$/);
    // The store knows the server's clock only to a round trip, which takes long on a busy machine.
    await setTimeout(1_000);
    server.resume();
    await eventually("calls are answered", async () => (await take(store, "other")).as === "allowed");
    expect(await charged(store, "k")).toBe(1);
  });
});

describe.each(libraries)("a cluster's client of $name", (library) => {
  let cluster: RedisCluster;
  let made: Made;
  beforeAll(async () => {
    cluster = await startCluster();
    made = library.cluster(cluster);
  });
  afterAll(async () => {
    made?.close();
    await cluster?.stop();
  });

  for (const conformance of [storeConformance, slotConformance]) {
    conformance(`RedisStore on a cluster by ${library.name}`, async () => {
      const store = storeOn(made.client);
      await store.ready();
      return { store, acrossKeys: false };
    });
  }

  it("asks each master once for the requests of a tick", async () => {
    const store = storeOn(made.client);
    const keys = Array.from({ length: 60 }, (_, i) => `user${i}`);
    await Promise.all(keys.map((key) => take(store, key)));
    const masters = await cluster.masters();
    await Promise.all(masters.map((master) => master.ask("CONFIG", "RESETSTAT")));
    const ends = await Promise.all(keys.map((key) => take(store, key)));
    expect(counts(ends)).toEqual({ allowed: 60 });
    for (const master of masters) {
      expect(await master.ask("INFO", "commandstats")).toMatch(/cmdstat_evalsha:calls=1,/);
    }
  });

  it("asks each master once to extend many slots", async () => {
    const store = storeOn(made.client);
    const rule = { name: "tasks", limit: concurrency(2) };
    const held: Operation[] = Array.from({ length: 300 }, (_, i) => ({
      rule,
      key: `user${i}`,
      cost: 1,
      slot: { id: `r${i}`, forUs: 60_000_000 },
    }));
    await Promise.all(held.map((each) => store.apply("take", [each])));
    const masters = await cluster.masters();
    await Promise.all(masters.map((master) => master.ask("CONFIG", "RESETSTAT")));
    const answers = await store.apply("extend", held);
    expect(answers.filter(({ allowed, inUse }) => allowed && inUse === 1)).toHaveLength(300);
    for (const master of masters) {
      expect(await master.ask("INFO", "commandstats")).toMatch(/cmdstat_evalsha:calls=1,/);
    }
  });

  it("follows a slot that has moved to another master", async () => {
    const store = storeOn(made.client);
    const keys = Array.from({ length: 20 }, (_, i) => `user${i}`);
    const round = async () => counts(await Promise.all(keys.map((key) => take(store, key))));
    expect(await round()).toEqual({ allowed: 20 });
    const from = await cluster.masterOf("user7");
    const to = (await cluster.masters()).find((master) => master !== from);
    if (to === undefined) throw new Error("there is one master only");
    const slot = await moveSlot(slotOf("user7"), from, to);
    await slot.open();
    expect(await round()).toEqual({ allowed: 20 });
    await slot.migrateAll();
    expect(await round()).toEqual({ allowed: 20 });
    await slot.close();
    expect(await round()).toEqual({ allowed: 20 });
    expect(await charged(store, "user7")).toBe(4);
  });
});

describe("a client that implements the interface itself", () => {
  it("needs only send", async () => {
    const server = await startRedis();
    const redis = new Redis(server.url);
    const store = storeOn({ send: ([name, ...args]) => redis.callBuffer(String(name), ...args) });
    await store.ready();
    expect((await take(store, "k")).as).toBe("allowed");
    expect(await charged(store, "k")).toBe(1);
    await store.close();
    redis.disconnect();
    await server.stop();
  });
});
