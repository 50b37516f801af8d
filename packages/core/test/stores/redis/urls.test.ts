import { makeCertificate } from "headgate-testkit/certificate";
import { eventually } from "headgate-testkit/eventually";
import { freePort } from "headgate-testkit/free-port";
import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import { type RedisSentinels, startSentinels } from "headgate-testkit/redis-sentinels";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "../../../src/redis.ts";
import { operation } from "../conformance/context.ts";
import { charged, counted, counts, take } from "./faults/calls.ts";
import { PATIENCE_MS } from "./redis.ts";

const keys = Array.from({ length: 30 }, (_, i) => `user${i}`);
const PASSWORD = "pass,word:with@signs";
const tls = makeCertificate();

const close: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of close.splice(0)) await end();
});

function storeAt(url: string, timeoutMs = PATIENCE_MS): RedisStore {
  const store = new RedisStore(url, { timeoutMs });
  close.push(() => store.close());
  return store;
}

/** How takes of all keys end that are asked for at once, and then one after the other. */
async function ends(store: RedisStore): Promise<Record<string, number>> {
  const burst = await Promise.all(keys.map((key) => take(store, key)));
  const single = [];
  for (const key of keys) single.push(await take(store, key));
  return counts([...burst, ...single]);
}

describe("a URL of a cluster with a password and TLS", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster({}, { password: PASSWORD, tls });
  });
  afterAll(() => cluster?.stop());

  it("may be redis+cluster with several hosts", async () => {
    expect(await ends(storeAt(cluster.url))).toEqual({ allowed: 2 * keys.length });
  });

  it("may be a list of URLs, of which some do not answer", async () => {
    const nodes = cluster.nodes.slice(0, 2).map(({ url }) => url);
    const [{ login, parameters }] = cluster.nodes;
    const gone = `rediss://${login}127.0.0.1:${await freePort()}${parameters}`;
    expect(await ends(storeAt([gone, ...nodes].join(",")))).toEqual({ allowed: 2 * keys.length });
  });

  it.each(["master", "replica"])(
    "may name a single node, here a %s, that is found to be of a cluster",
    async (role) => {
      const [master] = await cluster.masters();
      const node = role === "master" ? master : (await cluster.replicasOf(master))[0];
      const store = storeAt(node.url);
      await store.ready();
      const before = await Promise.all(keys.map((key) => charged(store, key)));
      expect(await ends(store)).toEqual({ allowed: 2 * keys.length });
      const after = await Promise.all(keys.map((key) => charged(store, key)));
      expect(after).toEqual(before.map((units) => units + 2));
    },
  );

  it("may name a single node before anything is connected: no call is lost, and keys must not be apart", async () => {
    const [{ url }] = cluster.nodes;
    const store = storeAt(url);
    const apart = store.apply("take", [operation(counted, "ann"), operation(counted, "bob")]);
    const burst = Promise.all(keys.map((key) => take(store, key)));
    await expect(apart).rejects.toMatchObject({ code: "HG_KEYS_APART", field: "checks[1].key" });
    expect(counts(await burst)).toEqual({ allowed: keys.length });
    expect(() => store.apply("take", [operation(counted, "ann"), operation(counted, "bob")])).toThrow(
      expect.objectContaining({ code: "HG_KEYS_APART" }),
    );
  });

  it("may name a single node if the user cannot query the topology: the first redirection reveals it", async () => {
    const rules = ["on", ">pw", "~*", "&*", "+@all", "-info"];
    await Promise.all(cluster.nodes.map((node) => node.ask("ACL", "SETUSER", "quiet", ...rules)));
    const [master] = await cluster.masters();
    const store = storeAt(master.url.replace(master.login, "quiet:pw@"));
    expect(await ends(store)).toEqual({ allowed: 2 * keys.length });
  });

  it("keeps telling what is posted once a single node is found to be of a cluster", async () => {
    const [{ url }] = cluster.nodes;
    const store = storeAt(url);
    const heard: string[] = [];
    store.notifications.subscribe("topic", (text) => heard.push(text));
    await store.ready();
    await eventually("it is heard", async () => {
      store.notifications.post("topic", "news");
      return heard.length > 0;
    });
  });

  it("with a database is refused, and says that a cluster has only one", async () => {
    const [{ url }] = cluster.nodes;
    const store = storeAt(url.replace("?", "/2?"));
    expect(await take(store, "a")).toMatchObject({
      as: "HG_STORE_REFUSED",
      message: expect.stringMatching(/only database 0: leave the database out/),
    });
  });

  it("with a wrong password is refused as such", async () => {
    const store = storeAt(cluster.url.replace(/:\/\/.*@/, "://:wrong@"));
    expect(await take(store, "a")).toMatchObject({
      as: "HG_STORE_REFUSED",
      message: expect.stringMatching(/WRONGPASS/),
    });
  });

  it("without the authority of its certificate is unreachable, and says why", async () => {
    const store = storeAt(cluster.nodes[0].url.replace(/\?.*/, ""));
    expect(await take(store, "a")).toMatchObject({
      as: "HG_STORE_UNREACHABLE",
      message: expect.stringMatching(/certificate/),
    });
  });
});

describe("a URL of a cluster", () => {
  it("that leads to a server without a cluster is refused, and says what to give instead", async () => {
    const server: RedisServer = await startRedis();
    close.push(() => server.stop());
    expect(await take(storeAt(`redis+cluster://127.0.0.1:${server.port}`), "a")).toMatchObject({
      as: "HG_STORE_REFUSED",
      message: expect.stringMatching(/not a node of a Redis Cluster: use its URL alone/),
    });
  });
});

describe("a URL of sentinels with passwords and TLS", () => {
  let all: RedisSentinels;
  beforeAll(async () => {
    all = await startSentinels({ password: PASSWORD, sentinelPassword: "for-sentinels", tls });
  });
  afterAll(() => all?.stop());

  it("that names a master they do not know is rejected with a message that says so", async () => {
    const store = storeAt(all.url.replace("/mymaster", "/othermaster"), 5_000);
    expect(await take(store, "a")).toMatchObject({
      as: "HG_STORE_REFUSED",
      message: expect.stringMatching(/do not know a master called "othermaster"/),
    });
  });

  it("with a wrong password for the sentinels is refused as such", async () => {
    const store = storeAt(all.url.replace("for-sentinels", "not-for-them"), 5_000);
    expect(await take(store, "a")).toMatchObject({
      as: "HG_STORE_REFUSED",
      message: expect.stringMatching(/a sentinel says: WRONGPASS/),
    });
  });

  it("that gets no answer is unreachable, at once", async () => {
    const url = all.url.replace(all.hosts, `127.0.0.1:${await freePort()}`);
    const end = await take(storeAt(url), "a");
    expect(end).toMatchObject({
      as: "HG_STORE_UNREACHABLE",
      message: expect.stringMatching(/All sentinels are unreachable/),
    });
    expect(end.took).toBeLessThan(PATIENCE_MS / 2);
  });

  it("leads to the master, and after a failover to the new one, with what was charged", async () => {
    const store = storeAt(all.url, 1_000);
    await eventually("it is ready", () => store.ready().then(() => true));
    for (let i = 0; i < 5; i += 1) await eventually("a take", async () => (await take(store, "a")).as === "allowed");
    const before = await charged(store, "a");
    await eventually("the replica has it", async () => (await all.replica.ask("DBSIZE")) === "1");
    await all.master.kill();
    await eventually("the replica takes over", async () => (await take(store, "b")).as === "allowed", 60_000);
    expect(await all.replica.ask("INFO", "replication")).toContain("role:master");
    expect(await charged(store, "a")).toBe(before);
  });
});
