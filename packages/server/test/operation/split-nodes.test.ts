import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { startZooKeeper } from "headgate-testkit/zookeeper-server";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";

// Long windows, so that none of them ends during a test. What a node cannot decide is denied with 503.
const RULES = `
rules:
  - { rule_id: shared, name: shared, dimension: user, endpoint_pattern: /shared, limit: 41, window_seconds: 86400,
      algorithm: token_bucket, on_error: deny, consistency: split }
  - { rule_id: total, name: total, dimension: user, endpoint_pattern: /both, limit: 10, window_seconds: 86400,
      algorithm: token_bucket, on_error: deny }
  - { rule_id: part, name: part, dimension: user, endpoint_pattern: /**, limit: 30, window_seconds: 3600,
      algorithm: token_bucket, on_error: deny, consistency: split }
`;

describe("rules with consistency split", () => {
  let folder: string;
  let redis: RedisServer;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "headgate-split-"));
    writeFileSync(join(folder, "rules.yaml"), RULES);
    redis = await startRedis();
  });
  afterEach(async () => {
    await redis.stop();
    rmSync(folder, { recursive: true });
  });

  async function started(...flags: readonly string[]): Promise<NodeProcess> {
    const node = await startNode({ flags: ["--rules", join(folder, "rules.yaml"), ...flags] });
    onTestFinished(() => node.end());
    return node;
  }

  /** How many of this number of checks a node admits, for an unused key. */
  async function admitted(
    nodes: readonly NodeProcess[],
    key: string,
    endpoint: string,
    checks = 60,
  ): Promise<number[]> {
    const counts = nodes.map(() => 0);
    for (let i = 0; i < checks; i += 1) {
      for (const [n, node] of nodes.entries()) if ((await decided(node, key, endpoint)) === 200) counts[n] += 1;
    }
    return counts;
  }

  /** On a busy machine, a heartbeat may be late, and the node has no share until the next one. */
  async function decided(node: NodeProcess, key: string, endpoint: string): Promise<number> {
    let status = 503;
    await eventually("the node has a share", async () => {
      status = await node.check(key, endpoint);
      return status !== 503;
    });
    return status;
  }

  async function sharedAmong(node: NodeProcess, count: number): Promise<void> {
    await eventually(`the limit is shared by ${count}`, async () => {
      const metrics = await (await node.request("GET", "/metrics")).text();
      return metrics.includes(`\nheadgate_split_nodes ${count}\n`);
    });
  }

  it("admit the limit together, also when a node joins, leaves or dies", async () => {
    const first = await started("--redis", redis.url);
    expect(await admitted([first], "alone", "/shared")).toEqual([30]);
    const second = await started("--redis", redis.url);
    await sharedAmong(first, 2);
    const [a, b] = await admitted([first, second], "two", "/shared");
    expect([a, b].sort()).toEqual([15, 15]);
    const third = await started("--redis", redis.url);
    await sharedAmong(first, 3);
    expect(await admitted([first, second, third], "three", "/shared")).toEqual([10, 10, 10]);
    await second.stop();
    await sharedAmong(first, 2);
    expect(await admitted([first, third], "two again", "/shared")).toEqual([15, 15]);
    await third.kill();
    await sharedAmong(first, 1);
    expect(await admitted([first], "alone again", "/shared")).toEqual([30]);
    // Redis knows the nodes, and counts nothing.
    expect(await redis.ask("KEYS", "rl:{split:headgate}")).toBe("rl:{split:headgate}");
    expect(await redis.ask("KEYS", "rl:*/shared*")).toBe("");
  }, 60_000);

  it("are charged with other rules or not at all", async () => {
    const [first, second] = [await started("--redis", redis.url), await started("--redis", redis.url)];
    await sharedAmong(first, 2);
    // The store admits 10 in all; each node has 15 of the other rule.
    const [a, b] = await admitted([first, second], "u", "/both", 12);
    expect(a + b).toBe(10);
    // What was denied has not used up the shares.
    expect(await admitted([first, second], "u", "/other", 20)).toEqual([15 - a, 15 - b]);
  }, 60_000);

  it("are decided by on_error while the node has no share", async () => {
    const node = await started("--redis", redis.url);
    const ofNewKey = () => node.check(crypto.randomUUID(), "/other");
    expect(await ofNewKey()).toBe(200);
    await redis.kill();
    await eventually("the share lapses", async () => (await ofNewKey()) === 503);
    await redis.restart();
    await eventually("the share is back", async () => (await ofNewKey()) === 200);
  }, 60_000);

  it("are strict with ZooKeeper, and the node reports that", async () => {
    const zookeeper = await startZooKeeper();
    onTestFinished(() => zookeeper.stop());
    const node = await started("--zookeeper", zookeeper.address);
    expect(node.log).toContainEqual(
      expect.objectContaining({ level: "warn", rule_id: "shared", msg: expect.stringContaining("requires Redis") }),
    );
    // On a busy machine, the session with ZooKeeper may have to be renewed.
    await eventually("a check is allowed", async () => (await node.check("u", "/other")) === 200);
  }, 60_000);
});
