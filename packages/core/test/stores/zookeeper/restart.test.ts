import { type CutProxy, startCutProxy } from "headgate-testkit/cut-proxy";
import { eventually } from "headgate-testkit/eventually";
import { freePort } from "headgate-testkit/free-port";
import { Peer } from "headgate-testkit/zookeeper-peer";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ZooKeeperStore } from "../../../src/zookeeper.ts";
import { operation, remaining } from "../conformance/context.ts";
import { charged, counted, counts, Traffic, take } from "../redis/faults/calls.ts";
import { useZooKeeper } from "./zookeeper.ts";

const zookeeper = useZooKeeper();

describe("a ZooKeeper that is killed", () => {
  it("fails calls as unreachable within milliseconds; back again it has what was used", async () => {
    const store = await zookeeper.store({ timeoutMs: 2_000 });
    await take(store, "k");
    await zookeeper.server.kill();
    const gone = await take(store, "k");
    expect(gone).toMatchObject({
      as: "HG_STORE_UNREACHABLE",
      message: expect.stringContaining(zookeeper.server.address),
    });
    expect(gone.took).toBeLessThan(1_000);
    await zookeeper.server.start();
    await eventually("calls are answered", async () => (await take(store, "after")).as === "allowed");
    expect(await charged(store, "k")).toBe(1);
  });

  it("under traffic has charged what it answered, and of the rest at most what was in flight", async () => {
    const store = await zookeeper.store({ timeoutMs: 2_000 });
    const traffic = new Traffic(store, ["k"], 1);
    await eventually("there is traffic", async () => (await charged(store, "k")) > 50);
    await zookeeper.server.restart();
    await eventually("calls are answered", async () => (await take(store, "other")).as === "allowed");
    const { allowed, HG_STORE_UNREACHABLE: lost } = counts(await traffic.stop());
    expect(lost).toBeGreaterThan(0);
    const used = await charged(store, "k");
    expect(used).toBeGreaterThanOrEqual(allowed);
    expect(used).toBeLessThanOrEqual(allowed + lost);
  });
});

describe("a server that is not there", () => {
  it("fails calls as unreachable, and ready() too", async () => {
    const store = new ZooKeeperStore(`127.0.0.1:${await freePort()}`, { timeoutMs: 1_000 });
    const first = await take(store, "k");
    expect(first.as).toBe("HG_STORE_UNREACHABLE");
    expect(first.took).toBeLessThan(900);
    await expect(store.ready()).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    await store.close();
  });

  it("is passed over for another that is", async () => {
    const addresses = [`127.0.0.1:${await freePort()}`, zookeeper.server.address, `127.0.0.1:${await freePort()}`];
    for (let i = 0; i < 4; i += 1) {
      const store = new ZooKeeperStore(addresses, { root: zookeeper.newRoot() });
      expect((await take(store, "k")).as).toBe("allowed");
      await store.close();
    }
  });
});

describe("a reply that is lost after the write", () => {
  let proxy: CutProxy;
  let store: ZooKeeperStore;
  let other: ZooKeeperStore;
  beforeAll(async () => {
    const root = zookeeper.newRoot();
    proxy = await startCutProxy(zookeeper.server.port);
    store = new ZooKeeperStore(`127.0.0.1:${proxy.port}`, { root, timeoutMs: 2_000 });
    other = await zookeeper.store({ root });
    await store.ready();
  });
  afterAll(async () => {
    await store?.close();
    await proxy?.stop();
  });

  async function losing<T>(text: string, call: () => Promise<T>): Promise<T> {
    const lost = proxy.loseReply(text);
    const result = await call();
    await lost;
    await eventually("it is connected again", async () => (await take(store, "again")).as === "allowed");
    return result;
  }

  it("fails the call as unreachable, and it is charged once", async () => {
    await take(store, "alone");
    expect((await losing('"limit"', () => take(store, "alone"))).as).toBe("HG_STORE_UNREACHABLE");
    expect(await charged(other, "alone")).toBe(2);
    expect((await take(store, "alone")).as).toBe("allowed");
    expect(await charged(other, "alone")).toBe(3);
  });

  it("repeated under its idempotency key gets the answer that was lost, and is charged once", async () => {
    const once = (at: ZooKeeperStore) => at.apply("take", [operation(counted, "once", 3)], { idempotencyKey: "id" });
    await losing('"limit"', () => expect(once(store)).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" }));
    const again = await once(store);
    expect(again).toEqual(await once(other));
    expect(await charged(other, "once")).toBe(3);
  });
});

describe("znodes that are deleted by hand under traffic", () => {
  it("start from zero, and no call fails", async () => {
    const root = zookeeper.newRoot();
    const stores = await Promise.all([0, 1].map(() => zookeeper.store({ root })));
    const peer = new Peer(zookeeper.server.address);
    const traffic = stores.map((store) => new Traffic(store, ["k"]));
    for (const path of [stores[0].pathOf(counted, "k"), `${root}/limits`, root]) {
      await eventually("there is traffic", async () => (await charged(stores[0], "k")) > 20);
      await eventually("it is gone", async () => peer.removeAll(path).then(() => true));
    }
    const calls = (await Promise.all(traffic.map((each) => each.stop()))).flat();
    expect(counts(calls)).toEqual({ allowed: calls.length });
    expect(await remaining(stores[0], counted, "k")).toBe(await remaining(stores[1], counted, "k"));
  });
});
