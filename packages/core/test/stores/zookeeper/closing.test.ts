import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { freePort } from "headgate-testkit/free-port";
import { startZooKeeper } from "headgate-testkit/zookeeper-server";
import { describe, expect, it } from "vitest";
import { ZooKeeperStore } from "../../../src/zookeeper.ts";
import { charged, take } from "../redis/faults/calls.ts";
import { useZooKeeper } from "./zookeeper.ts";

const run = promisify(execFile);
const zookeeper = useZooKeeper();

describe("close()", () => {
  it("answers what was asked before it, and refuses what is asked after it", async () => {
    const root = zookeeper.newRoot();
    const store = await zookeeper.store({ root });
    const asked = take(store, "a");
    const closed = store.close();
    expect((await take(store, "a")).as).toBe("HG_STORE_UNREACHABLE");
    expect((await asked).as).toBe("allowed");
    await closed;
    expect((await take(store, "a")).as).toBe("HG_STORE_UNREACHABLE");
    expect(await charged(await zookeeper.store({ root }), "a")).toBe(1);
  });

  it("may be called twice, and ends the session", async () => {
    const before = await zookeeper.server.connections();
    const store = await zookeeper.store();
    expect(await zookeeper.server.connections()).toBe(before + 1);
    await Promise.all([store.close(), store.close()]);
    await store.close();
    expect(await zookeeper.server.connections()).toBe(before);
  });

  it("ends when the server is frozen", async () => {
    const frozen = await startZooKeeper();
    const store = new ZooKeeperStore(frozen.address, { timeoutMs: 200 });
    await take(store, "d");
    await frozen.pause();
    // The server is never resumed: waiting for its answer would never end.
    await Promise.all([take(store, "d"), store.close()]);
    await frozen.stop();
  });

  it.each<[what: string, address: () => Promise<string>, calls: number]>([
    ["used", async () => zookeeper.server.address, 3],
    ["never used", async () => zookeeper.server.address, 0],
    ["never reached a server", async () => `127.0.0.1:${await freePort()}`, 3],
    ["is still connecting", async () => `127.0.0.1:${await freePort()}`, 0],
  ])("leaves nothing that would keep a process alive, whether the store was one that %s", async (_, address, calls) => {
    const program = `
      import { fixedWindow } from "headgate";
      import { ZooKeeperStore } from "headgate/zookeeper";
      const store = new ZooKeeperStore(${JSON.stringify(await address())});
      const rule = { name: "a", limit: fixedWindow("9/d") };
      store.notifications.subscribe("a", () => {});
      for (let i = 0; i < ${calls}; i += 1) await store.apply("take", [{ rule, key: "a", cost: 1 }]).catch(() => {});
      await store.close();
      console.log("closed");`;
    const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", program], {
      timeout: 60_000,
    });
    expect({ stdout, stderr }).toEqual({ stdout: "closed\n", stderr: "" });
  });
});

describe("a store of many calls", () => {
  it("leaves no listener behind with each call or each new session", async () => {
    const warnings: string[] = [];
    const warned = (warning: Error): number => warnings.push(warning.name);
    process.on("warning", warned);
    const server = await startZooKeeper();
    const store = new ZooKeeperStore(server.address, { timeoutMs: 5_000 });
    store.notifications.subscribe("t", () => {});
    for (let i = 0; i < 20; i += 1) {
      store.notifications.post("t", String(i));
      await Promise.all(Array.from({ length: 20 }, (_, n) => take(store, `k${n}`)));
    }
    await server.restart();
    await store.close();
    await server.stop();
    process.off("warning", warned);
    expect(warnings).toEqual([]);
  });
});
