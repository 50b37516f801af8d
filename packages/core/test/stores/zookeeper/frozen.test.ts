import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { describe, expect, it } from "vitest";
import type { ApplyOptions } from "../../../src/index.ts";
import { ask, operation } from "../conformance/context.ts";
import { charged, counted, counts, Traffic, take } from "../redis/faults/calls.ts";
import { useZooKeeper } from "./zookeeper.ts";

const zookeeper = useZooKeeper();

describe("a ZooKeeper that is frozen under load", () => {
  it("ends every call at its deadline, charges nothing, and answers calls after its return", async () => {
    const timeoutMs = 300;
    const root = zookeeper.newRoot();
    const patient = await zookeeper.store({ root });
    const store = await zookeeper.store({ root, timeoutMs });
    expect((await take(patient, "asleep")).as).toBe("allowed");
    await zookeeper.server.pause();
    const traffic = new Traffic(store, ["asleep", "new"]);
    // The store drops a connection that stays silent; the calls after that find none.
    await eventually("calls find no connection", async () => (await take(store, "new")).as === "HG_STORE_UNREACHABLE");
    // Every call ends while the server is still frozen: none has waited for its return.
    const calls = await traffic.stop();
    await delay(timeoutMs);
    zookeeper.server.resume();
    await eventually("calls are answered", async () => (await take(store, "after")).as === "allowed", 15_000);
    await eventually("all stores are connected", async () => (await take(patient, "after")).as === "allowed");

    expect(Object.keys(counts(calls)).sort()).toEqual(["HG_STORE_TIMEOUT", "HG_STORE_UNREACHABLE"]);
    expect(await charged(patient, "asleep")).toBe(1);
    expect(await charged(patient, "new")).toBe(0);
  });

  it("does not remember a request that it came to too late, and does it when it is sent again", async () => {
    const store = await zookeeper.store({ timeoutMs: 1_000 });
    const once = (options?: ApplyOptions) =>
      store.apply("take", [operation(counted, "k", 3)], { idempotencyKey: "once", ...options });
    await store.apply("take", [operation(counted, "k")], { idempotencyKey: "another" });
    // Now the store knows that it has not been sent yet: what it sends next is the write.
    await expect(once({ voidFrom: 1 })).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    await zookeeper.server.pause();
    await expect(once()).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    await delay(100);
    zookeeper.server.resume();
    await eventually("calls are answered", async () => (await take(store, "other")).as === "allowed");
    expect(await charged(store, "k")).toBe(1);
    const [first] = await once();
    expect((await once())[0]).toEqual(first);
    expect(await charged(store, "k")).toBe(4);
  });

  it("charges what reached it before the request was void, and answers the caller", async () => {
    const store = await zookeeper.store({ timeoutMs: 5_000 });
    await take(store, "k");
    await zookeeper.server.pause();
    const call = ask(store, "take", counted, "k");
    await delay(300);
    zookeeper.server.resume();
    expect((await call).allowed).toBe(true);
    expect(await charged(store, "k")).toBe(2);
  });

  it("makes a request void from the time that it names, though its deadline is later", async () => {
    const store = await zookeeper.store({ timeoutMs: 5_000 });
    await take(store, "k");
    await zookeeper.server.pause();
    const voidFrom = store.clock.now() + 200_000;
    const call = ask(store, "take", counted, "k", 1, { voidFrom });
    await delay(400);
    zookeeper.server.resume();
    await expect(call).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    expect(await charged(store, "k")).toBe(1);
  });
});
