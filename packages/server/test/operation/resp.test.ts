import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { startRedis } from "headgate-testkit/redis-server";
import { NodeProcess, startNode } from "headgate-testkit/service-process";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
// Of Debian's redis-server: literal names would make knip look for them among the packages.
const [REDIS_CLI, REDIS_BENCHMARK] = ["redis-cli", "redis-benchmark"];

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function start(...flags: readonly string[]): Promise<{ node: NodeProcess; port: number }> {
  const node = await startNode({ flags: ["--resp", "127.0.0.1:0", ...flags] });
  endings.push(() => node.end());
  const { resp } = node.log.find(({ msg }) => msg === "ready") ?? {};
  return { node, port: Number(String(resp).split(":").at(-1)) };
}

/** A key of a namespace that all nodes share. */
async function keyOf(node: NodeProcess): Promise<string> {
  const made = await node.request("POST", "/api/v1/keys", { name: "shop", roles: ["check"], namespace: "shop" });
  const { key } = JSON.parse(await made.text());
  return key;
}

/** How many of this number of calls on several connections are admitted, each in a pipeline of 25. */
async function admitted(port: number, password: string, calls: number): Promise<number> {
  const clients = Array.from({ length: 8 }, () => new Redis({ port, password }));
  endings.push(() => clients.map((client) => client.disconnect()));
  const each = Array.from({ length: 25 }, () => ["call", "CL.THROTTLE", "k", "99", "1", "3600"]);
  let allowed = 0;
  const work = clients.map(async (client) => {
    for (let sent = 0; sent < calls / clients.length; sent += each.length) {
      const results = (await client.pipeline(each).exec()) ?? [];
      for (const [, reply] of results) if (Array.isArray(reply) && reply[0] === 0) allowed += 1;
    }
  });
  await Promise.all(work);
  return allowed;
}

describe("RESP of a whole node", () => {
  it("serves ioredis, node-redis, redis-cli and redis-benchmark", async () => {
    const { node, port } = await start("--checks-limit", "10000000/s");
    await node.addRule("orders", "/orders", 5);

    const ioredis = new Redis({ port, username: "default", password: node.key });
    endings.push(() => ioredis.disconnect());
    expect(await ioredis.call("CL.THROTTLE", "a", 15, 30, 60)).toEqual([0, 16, 15, -1, 2]);

    for (const RESP of [2, 3] as const) {
      const client = createClient({ RESP, password: node.key, socket: { port, host: "127.0.0.1" } });
      client.on("error", () => {});
      await client.connect();
      endings.push(() => client.isOpen && client.destroy());
      const key = `node-redis-${RESP}`;
      expect(await client.sendCommand(["THROTTLE", key, "10", "100", "60"])).toEqual([1, 10, 9, 5, 0]);
      expect(await client.ping()).toBe("PONG");
      const answer = await client.sendCommand(["HG.CHECK", "orders", key, "COST", "2"]);
      const entries = Array.isArray(answer) ? answer : Object.entries(Object(answer)).flat();
      expect(entries).toEqual(expect.arrayContaining(["rule_id", "orders", "remaining", 3]));
      expect(await client.del(key)).toBe(1);
      await client.quit();
    }

    const cli = async (...args: string[]) => {
      const { stdout } = await run(REDIS_CLI, ["-p", String(port), "--no-auth-warning", "-a", node.key, ...args]);
      return stdout.trim().split("\n");
    };
    expect(await cli("CL.THROTTLE", "cli", "4", "1", "60")).toEqual(["0", "5", "4", "-1", "60"]);
    expect(await cli("-3", "HELLO", "3")).toContain("proto 3");
    expect(await cli("GET", "a")).toEqual(["ERR unknown command 'GET'"]);

    for (const pipeline of ["1", "16", "64"]) {
      const load = ["-p", String(port), "-a", node.key, "-c", "10", "-P", pipeline, "-n", "6400", "-r", "100", "-q"];
      const { stdout } = await run(REDIS_BENCHMARK, [...load, "CL.THROTTLE", "b:__rand_int__", "5", "1", "60"]);
      expect(stdout).toMatch(/[\d.]+ requests per second/);
    }
    const metrics = await (await node.request("GET", "/metrics")).text();
    expect(metrics).toMatch(/headgate_call_seconds_count\{transport="resp",route="CL.THROTTLE",status="OK"\} 192\d\d/);
    expect(metrics).toMatch(/headgate_decisions_total\{rule="namespace:\w+",outcome="denied",source="store"\} \d+/);
  });

  it("counts exactly with several workers, in memory", async () => {
    const { node, port } = await start("--workers", "2");
    expect(await admitted(port, node.key, 1_000)).toBe(100);
  });

  it.each(["strict", "leased"])("counts exactly on two nodes that share a Redis, consistency %s", async (how) => {
    const redis = await startRedis();
    endings.push(() => redis.stop());
    const flags = ["--redis", redis.url, "--resp-consistency", how, "--store-timeout", "1s"];
    const { node, port } = await start(...flags);
    const other = await start(...flags);
    const counts = await Promise.all([
      admitted(port, await keyOf(node), 400),
      admitted(other.port, await keyOf(other.node), 400),
    ]);
    const total = counts[0] + counts[1];
    // What a node still holds on lease when the other has run out is not spent.
    if (how === "strict") expect(total).toBe(100);
    expect(total).toBeLessThanOrEqual(100);
    expect(total).toBeGreaterThan(50);
  });

  it("is off unless asked for, and refuses addresses that others can reach without TLS", async () => {
    const node = await startNode();
    endings.push(() => node.end());
    expect(node.log.find(({ msg }) => msg === "ready")).not.toHaveProperty("resp");
    const exposed = new NodeProcess({ flags: ["--resp", "0.0.0.0:0"] });
    endings.push(() => exposed.end());
    expect(await exposed.ended).toBe(1);
    expect(exposed.stderr).toContain("--resp: other machines can reach");
  });
});
