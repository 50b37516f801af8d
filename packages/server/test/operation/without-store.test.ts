import { eventually } from "headgate-testkit/eventually";
import { freePort } from "headgate-testkit/free-port";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { type NodeOptions, NodeProcess, startNode } from "headgate-testkit/service-process";
import { startZooKeeper } from "headgate-testkit/zookeeper-server";
import { afterEach, describe, expect, it } from "vitest";

const ended: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ended.splice(0).reverse()) await end();
});

async function redisOn(port: number, settings: Parameters<typeof startRedis>[0] = {}): Promise<RedisServer> {
  const redis = await startRedis({ ...settings, port });
  ended.push(() => redis.stop());
  return redis;
}

function begun(options: NodeOptions): NodeProcess {
  const node = new NodeProcess(options);
  ended.push(() => node.end());
  return node;
}

async function started(options: NodeOptions): Promise<NodeProcess> {
  const node = await startNode(options);
  ended.push(() => node.end());
  return node;
}

async function readiness(node: NodeProcess): Promise<unknown> {
  const response = await fetch(`${node.url}/readyz`);
  return { status: response.status, ...((await response.json()) as object) };
}

describe("a node whose store of counters is gone", () => {
  it("starts, reports it, follows on_error, and uses Redis as soon as it is available", async () => {
    const port = await freePort();
    const node = await started({ flags: ["--redis", `redis://127.0.0.1:${port}`, "--store-timeout", "1s"] });
    expect(node.stdout).toContain("Redis is unreachable: on_error decides");
    expect(node.log).toContainEqual(
      expect.objectContaining({
        level: "error",
        code: "HG_STORE_UNREACHABLE",
        msg: expect.stringMatching(/^started without the store/),
        err: expect.objectContaining({ message: expect.stringMatching(/check the address.*ECONNREFUSED/) }),
      }),
    );
    expect(node.log).toContainEqual(expect.objectContaining({ msg: "ready", store: "unreachable" }));
    expect(await readiness(node)).toEqual({ status: "ready", store: "unreachable" });
    const metrics = await (await node.request("GET", "/metrics")).text();
    expect(metrics).toMatch(/^headgate_store_breaker_open 1$/m);
    // No request was answered: this store is gone, not busy.
    expect(metrics).toMatch(/^headgate_fallbacks_while_answering_total 0$/m);

    const forAnHour = { window_seconds: 3600 };
    await node.addRule("open", "/open", 1, { ...forAnHour, on_error: "allow" });
    await node.addRule("shut", "/shut", 1, { ...forAnHour, on_error: "deny" });
    await node.addRule("near", "/near", 1, { ...forAnHour, on_error: "local" });
    await node.addRule("leased", "/leased", 1000, { ...forAnHour, on_error: "deny", consistency: "leased" });
    const twice = async (endpoint: string) => [await node.check("a", endpoint), await node.check("a", endpoint)];
    expect(await twice("/open")).toEqual([200, 200]);
    expect(await twice("/shut")).toEqual([503, 503]);
    expect(await twice("/near")).toEqual([200, 503]);
    expect(await twice("/leased")).toEqual([503, 503]);

    const redis = await redisOn(port);
    // No checks are made meanwhile.
    await eventually("it finds Redis", async () => {
      return JSON.stringify(await readiness(node)) === '{"status":"ready","store":"reachable"}';
    });
    expect(node.log.some(({ msg }) => msg === "the store is back")).toBe(true);
    // Not at once: a machine may be too busy for it to answer in time.
    for (const status of [200, 429])
      await eventually(`Redis says ${status}`, async () => (await node.check("a", "/shut")) === status);
    await eventually("a lease is had", async () => (await node.check("a", "/leased")) === 200);
    expect(await redis.ask("keys", "*/shut*")).toContain("rl:{user:a}:3600:/shut");
    expect(await node.stop()).toBe(0);
  });

  it("stops cleanly without it", async () => {
    const node = await started({ flags: ["--redis", `redis://127.0.0.1:${await freePort()}`] });
    await node.addRule("cached", "/cached", 5, { consistency: "cached" });
    await node.addRule("leased", "/leased", 5, { consistency: "leased" });
    for (const endpoint of ["/cached", "/leased"]) expect(await node.check("a", endpoint)).toBe(200);
    expect(await node.stop()).toBe(0);
  });

  it("starts while Redis answers nothing, and is not held up by it", async () => {
    const redis = await redisOn(await freePort());
    redis.pause();
    const node = await started({ flags: ["--redis", redis.url] });
    expect(await readiness(node)).toEqual({ status: "ready", store: "unreachable" });
    expect(node.log).toContainEqual(expect.objectContaining({ level: "error", code: "HG_STORE_TIMEOUT" }));
    redis.resume();
    await eventually("it finds Redis", async () => {
      return JSON.stringify(await readiness(node)).includes('"reachable"');
    });
  });

  it("starts without ZooKeeper, and uses it as soon as it is there", async () => {
    const zookeeper = await startZooKeeper();
    ended.push(() => zookeeper.stop());
    await zookeeper.kill();
    const node = await started({ flags: ["--zookeeper", zookeeper.address, "--store-timeout", "1s"] });
    expect(await readiness(node)).toEqual({ status: "ready", store: "unreachable" });
    await node.addRule("shut", "/shut", 1, { window_seconds: 3600, on_error: "deny" });
    expect(await node.check("a", "/shut")).toBe(503);
    await zookeeper.start();
    for (const status of [200, 429])
      await eventually(`ZooKeeper says ${status}`, async () => (await node.check("a", "/shut")) === status);
  });
});

describe("a node whose store of counters is there, and wrong", () => {
  it("does not start with a password that Redis rejects, a database that does not exist, or a missing password", async () => {
    const redis = await redisOn(await freePort(), { password: "the-right-one" });
    const at = `127.0.0.1:${redis.port}`;
    const cases: [string, RegExp][] = [
      [`redis://:the-wrong-one@${at}`, /^headgate: store: the user name or password is wrong .*WRONGPASS/],
      [`redis://${at}`, /^headgate: store: the server requires a password/],
      [`${redis.url}/99`, /^headgate: store: .*DB index/],
    ];
    for (const [url, message] of cases) {
      const node = begun({ flags: ["--redis", url] });
      expect(await node.ended, node.stderr).toBe(1);
      expect(node.stderr).toMatch(message);
      expect(node.stderr).not.toMatch(/the-(right|wrong)-one/);
    }
  });

  it("does not start with a replica, which decides nothing", async () => {
    const master = await redisOn(await freePort());
    const replica = await redisOn(await freePort(), { config: { replicaof: `127.0.0.1 ${master.port}` } });
    const node = begun({ flags: ["--redis", replica.url] });
    expect(await node.ended, node.stderr).toBe(1);
    expect(node.stderr).toMatch(/^headgate: store: this server is a replica/);
  });

  it("logs an error if Redis evicts counters when its memory is full", async () => {
    const redis = await redisOn(await freePort(), {
      maxmemory: "50mb",
      config: { "maxmemory-policy": "allkeys-lru" },
    });
    const node = await started({ flags: ["--redis", redis.url] });
    await eventually("it says so", async () =>
      node.log.some(({ level, code, msg }) => {
        return level === "error" && code === "HG_EVICTION" && String(msg).includes("Set noeviction");
      }),
    );
  });
});
