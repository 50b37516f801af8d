import { describe, expect, it } from "vitest";
import { HeadgateError } from "../../../src/index.ts";
import { ZooKeeperStore } from "../../../src/zookeeper.ts";
import { ask } from "../conformance/context.ts";
import { counted } from "../redis/faults/calls.ts";
import { useZooKeeper } from "./zookeeper.ts";

const zookeeper = useZooKeeper();

describe("a ZooKeeper store", () => {
  it.each<[field: string, servers: unknown, options?: unknown]>([
    ["servers", ""],
    ["servers", []],
    ["servers", undefined],
    ["servers", "a b"],
    ["servers", "zk1:0"],
    ["servers", "zk1:65536"],
    ["servers", "zk1,,zk2"],
    ["servers", "zk1:2181/chroot"],
    ["servers", ["zk1", 7]],
    ["options.prefix", "zk1", { prefix: "a" }],
    ["root", "zk1", { root: "" }],
    ["root", "zk1", { root: "/" }],
    ["root", "zk1", { root: "headgate" }],
    ["root", "zk1", { root: "/a//b" }],
    ["root", "zk1", { root: "/a/../b" }],
    ["root", "zk1", { root: "/a/" }],
    ["timeoutMs", "zk1", { timeoutMs: 0 }],
    ["timeoutMs", "zk1", { timeoutMs: 2 ** 31 }],
    ["sessionTimeoutMs", "zk1", { sessionTimeoutMs: 99 }],
    ["purgeEveryMs", "zk1", { purgeEveryMs: -1 }],
    ["purgeEveryMs", "zk1", { purgeEveryMs: "1" }],
    ["auth", "zk1", { auth: "secret" }],
    ["auth", "zk1", { auth: ":secret" }],
    ["clock", "zk1", { clock: {} }],
  ])("refuses a wrong %s (%j, %j)", (field, servers, options) => {
    const made = (): unknown =>
      Reflect.construct(ZooKeeperStore, [servers, ...(options === undefined ? [] : [options])]);
    expect(made).toThrow(HeadgateError);
    expect(made).toThrow(expect.objectContaining({ code: "HG_BAD_OPTION", field }));
    expect(made).not.toThrow(/secret/);
  });

  it("restricts what it creates to its own user, and reports to others that access is denied", async () => {
    const root = zookeeper.newRoot();
    const owner = await zookeeper.store({ root, auth: "shop:secret" });
    expect((await ask(owner, "take", counted, "k")).allowed).toBe(true);
    const same = await zookeeper.store({ root, auth: "shop:secret" });
    expect((await ask(same, "take", counted, "k")).allowed).toBe(true);
    const stranger = new ZooKeeperStore(zookeeper.server.address, { root });
    for (const call of [() => stranger.ready(), () => ask(stranger, "take", counted, "k")]) {
      await expect(call()).rejects.toMatchObject({
        code: "HG_STORE_REFUSED",
        message: expect.stringMatching(/^(?!.*secret).*may not/),
      });
    }
    await stranger.close();
  });
});
