import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually } from "../src/eventually.ts";
import { type RedisCluster, startCluster } from "../src/redis-cluster.ts";
import type { RedisServer } from "../src/redis-server.ts";

describe("a Redis Cluster for a test", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startCluster();
  });
  afterAll(() => cluster.stop());

  it("has three masters, each with one replica, and serves every slot", async () => {
    const masters = await cluster.masters();
    expect(masters).toHaveLength(3);
    const replicas = await Promise.all(masters.map((master) => cluster.replicasOf(master)));
    expect(replicas.map(({ length }) => length)).toEqual([1, 1, 1]);
    expect(ports([...masters, ...replicas.flat()])).toEqual(ports(cluster.nodes));

    const client = new Cluster(cluster.addresses);
    const keys = Array.from({ length: 50 }, (_, index) => `key-${index}`);
    expect(await Promise.all(keys.map((key) => client.set(key, "1")))).toEqual(keys.map(() => "OK"));
    client.disconnect();
  });

  it("knows the master of a key", async () => {
    const owner = await cluster.masterOf("a");
    expect(await owner.ask("SET", "a", "1")).toBe("OK");
    const [other] = (await cluster.masters()).filter((node) => node !== owner);
    await expect(other.ask("SET", "a", "1")).rejects.toThrow(/MOVED/);
  });

  it("lets a replica take over from a master that was killed, and takes the dead one back as its replica", async () => {
    const dead = await cluster.masterOf("a");
    const [heir] = await cluster.replicasOf(dead);
    await dead.kill();
    await eventually("the replica takes over", async () => (await cluster.masters()).includes(heir));
    expect(ports([await cluster.masterOf("a")])).toEqual(ports([heir]));
    await cluster.settled();
    await dead.restart();
    await cluster.settled();
    expect(ports(await cluster.replicasOf(heir))).toEqual(ports([dead]));
  });
});

function ports(nodes: readonly RedisServer[]): number[] {
  return nodes.map(({ port }) => port).sort();
}
