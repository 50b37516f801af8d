import { existsSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { Peer } from "../src/zookeeper-peer.ts";
import { startZooKeeper, type ZooKeeperServer } from "../src/zookeeper-server.ts";

const servers: ZooKeeperServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

describe("a ZooKeeper for a test", () => {
  it("keeps its znodes over a kill and a restart, and is gone with its folder after stop", async () => {
    const server = await startZooKeeper();
    servers.push(server);
    const peer = new Peer(server.address);
    await peer.create("/a/b", "text");
    const { pid, port } = server;
    await server.restart();
    expect(server.pid).not.toBe(pid);
    expect(server.port).toBe(port);
    expect(await peer.get("/a/b")).toBe("text");
    expect(await server.mode()).toBe("standalone");
    await server.stop();
    expect(existsSync(server.dir)).toBe(false);
    await expect(server.mode()).rejects.toThrow(/REFUSED/);
  });

  it("answers nothing while it is paused, and everything afterwards", async () => {
    const server = await startZooKeeper();
    servers.push(server);
    await server.pause();
    await expect(server.mode()).rejects.toThrow(/no answer/);
    server.resume();
    expect(await server.mode()).toBe("standalone");
  });
});
