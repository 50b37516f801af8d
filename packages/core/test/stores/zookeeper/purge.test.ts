import { eventually } from "headgate-testkit/eventually";
import { Peer } from "headgate-testkit/zookeeper-peer";
import { describe, expect, it } from "vitest";
import { fixedWindow, slidingWindowLog } from "../../../src/index.ts";
import { stepsFor } from "../../../src/stores/zookeeper/compare-and-set.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import type { ZooKeeperStoreOptions } from "../../../src/zookeeper.ts";
import { ask, operation, remaining, rule } from "../conformance/context.ts";
import { useZooKeeper } from "./zookeeper.ts";

const zookeeper = useZooKeeper();
const MINUTE_MS = 60_000;
const short = rule("short", fixedWindow("10/10s", { anchor: "request" }));
const long = rule("long", slidingWindowLog("10/h"));

async function world(options: ZooKeeperStoreOptions = {}) {
  const clock = new ManualClock(1_700_000_000_000);
  const root = zookeeper.newRoot();
  const store = await zookeeper.store({ root, clock, ...options });
  const peer = new Peer(zookeeper.server.address);
  const exists = (path: string): Promise<boolean> =>
    peer.get(path).then(
      () => true,
      () => false,
    );
  return { clock, root, store, peer, exists };
}

describe("purge", () => {
  it("deletes what has expired, some time after it has said so, and nothing else", async () => {
    const { clock, root, store, peer, exists } = await world();
    await ask(store, "take", short, "k", 3);
    await ask(store, "take", long, "k", 3);
    await store.apply("take", [operation(short, "k")], { idempotencyKey: "once" });
    const path = store.pathOf(short, "k");
    clock.set(1_700_000_000_000 + 10_000 + MINUTE_MS - 1);
    expect(await store.purge()).toBe(0);
    expect(await peer.json(path)).toHaveProperty("row");
    clock.set(1_700_000_000_000 + 10_000 + MINUTE_MS);
    expect(await store.purge()).toBe(0);
    expect(await peer.json(path)).toEqual({ tombstone: expect.stringMatching(`^${root}/tombstones/`) });
    await clock.advance(2 * MINUTE_MS - 1);
    expect(await store.purge()).toBe(0);
    await clock.advance(1);
    expect(await store.purge()).toBe(1);
    expect(await exists(path)).toBe(false);
    expect(await peer.children(`${root}/tombstones`)).toEqual([]);
    // The answers are kept for their five minutes, and the other rule for its hour.
    expect(await peer.children(`${root}/requests`)).toHaveLength(1);
    await clock.advance(5 * MINUTE_MS);
    await store.purge();
    await clock.advance(2 * MINUTE_MS);
    expect(await store.purge()).toBe(1);
    expect(await peer.children(`${root}/requests`)).toEqual([]);
    expect(await remaining(store, long, "k")).toBe(7);
  });

  it("keeps a key that is used again in time by a process that has not seen the change", async () => {
    const { clock, root, store, peer } = await world();
    const other = await zookeeper.store({ root, clock });
    await ask(other, "take", short, "k", 3);
    clock.set(1_700_000_000_000 + 2 * MINUTE_MS);
    await store.purge();
    expect(await peer.children(`${root}/tombstones`)).toHaveLength(1);
    expect(await ask(store, "peek", short, "k", 0)).toMatchObject({ remaining: 10, resetAfter: 0 });
    expect(await ask(other, "take", short, "k", 4)).toMatchObject({ allowed: true, remaining: 6 });
    expect(await peer.children(`${root}/tombstones`)).toEqual([]);
    await clock.advance(3 * MINUTE_MS);
    expect(await store.purge()).toBe(0);
    expect(other.stats.conflicts).toBe(1);
  });

  it("does no harm when the tombstones were deleted by hand", async () => {
    const { clock, root, store, peer } = await world();
    await ask(store, "take", short, "k", 3);
    clock.set(1_700_000_000_000 + 2 * MINUTE_MS);
    await store.purge();
    await peer.removeAll(`${root}/tombstones`);
    expect(await ask(store, "take", short, "k", 4)).toMatchObject({ allowed: true, remaining: 6 });
    await clock.advance(3 * MINUTE_MS);
    await store.purge();
    expect(await remaining(store, short, "k")).toBe(10);
  });

  it("is done in the background, by one process at a time", async () => {
    const { clock, root, store, exists } = await world({ purgeEveryMs: 50 });
    await ask(store, "take", short, "k", 3);
    clock.set(1_700_000_000_000 + 2 * MINUTE_MS);
    await eventually("it is buried", async () => exists(`${root}/tombstones`));
    await clock.advance(3 * MINUTE_MS);
    await eventually("it is gone", async () => !(await exists(store.pathOf(short, "k"))));
  });
});

describe("a version", () => {
  const data = Buffer.from("{}");
  const seen = (version: number | undefined, tombstone?: string) => ({
    version,
    contents: { expires: 0, ...(tombstone !== undefined && { tombstone }) },
    since: 0,
  });

  it("is never the one that the client treats as any version", () => {
    expect(stepsFor("/a", seen(undefined), data).map((step) => step.do)).toEqual(["create", "set"]);
    expect(stepsFor("/a", seen(7), data)).toEqual([{ do: "set", path: "/a", data, version: 7 }]);
    expect(stepsFor("/a", seen(2 ** 31 - 2), data).map((step) => step.do)).toEqual(["remove", "create", "set"]);
  });

  it("is also checked for znodes that are not changed", () => {
    expect(stepsFor("/a", seen(7), undefined)).toEqual([{ do: "check", path: "/a", version: 7 }]);
    expect(stepsFor("/a", seen(undefined), undefined).map((step) => step.do)).toEqual(["create", "remove"]);
  });
});
