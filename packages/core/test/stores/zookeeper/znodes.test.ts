import { setTimeout as delay } from "node:timers/promises";
import { Peer } from "headgate-testkit/zookeeper-peer";
import { describe, expect, it } from "vitest";
import { fixedWindow, slidingWindowLog, tokenBucket } from "../../../src/index.ts";
import { nameOf } from "../../../src/stores/zookeeper/znode-names.ts";
import { ask, operation, remaining, rule } from "../conformance/context.ts";
import { useZooKeeper } from "./zookeeper.ts";

const zookeeper = useZooKeeper();
const daily = rule("api", fixedWindow("100/d", { anchor: "request" }));

describe("the names of znodes", () => {
  it.each([
    ["user-42", "user-42"],
    ["a/b", "a%2Fb"],
    ["a%2Fb", "a%252Fb"],
    ["", "%"],
    [".", "%2E"],
    ["..", "%2E%2E"],
    ["...", "..."],
    ["__proto__", "__proto__"],
    ["zookeeper", "zookeeper"],
    ["👍", "%uD83D%uDC4D"],
    ["\ud800", "%uD800"],
    ["\0", "%00"],
    ["\u0085", "%85"],
    ["\uffff", "%uFFFF"],
  ])("%j is %s", (text, name) => {
    expect(nameOf(text)).toBe(name);
  });

  it("are hashed when they would be long, and stay apart", () => {
    const [one, other] = ["x".repeat(10_000), `${"x".repeat(9_999)}y`].map(nameOf);
    expect(one).toMatch(/^%#[\w-]{43}$/);
    expect(one).not.toBe(other);
  });
});

describe("a znode", () => {
  it("shows in readable form what it counts", async () => {
    const store = await zookeeper.store();
    await ask(store, "take", daily, "user-42", 3);
    const path = store.pathOf(daily, "user-42");
    expect(path).toMatch(/^\/test\d+\/limits\/api\/fixed_window\/user-42$/);
    const { at, ...text } = await peer().json(path);
    expect(text).toMatchObject({ limit: 100, window: 86_400, used: 3, remaining: 97, row: [expect.any(Number), 3] });
    expect(Math.abs(Date.parse(String(at)) - Date.now())).toBeLessThan(5_000);
  });

  it("keeps the numbers of a row to the last bit", async () => {
    const store = await zookeeper.store();
    const thirds = rule("thirds", tokenBucket({ limit: 3, windowMs: 7_919_000 }));
    await ask(store, "take", thirds, "k");
    const other = await zookeeper.store({ root: rootOf(store.pathOf(thirds, "k")) });
    const first = await ask(store, "peek", thirds, "k", 0);
    const second = await ask(other, "peek", thirds, "k", 0);
    expect(Math.abs(first.resetAfter - second.resetAfter)).toBeLessThan(1_000_000);
    expect(first.remaining).toBeCloseTo(second.remaining, 2);
  });

  it("that holds something else refuses the requests of its key, and no others", async () => {
    const store = await zookeeper.store();
    await ask(store, "take", daily, "mine");
    for (const [key, text] of [
      ["text", "hello"],
      ["list", "[]"],
      ["row", '{"row":["a"],"expires_us":1}'],
    ]) {
      await peer().create(store.pathOf(daily, key), text);
      await expect(ask(store, "take", daily, key)).rejects.toMatchObject({ code: "HG_STORE_REFUSED", scope: "key" });
    }
    expect(await remaining(store, daily, "mine")).toBe(99);
  });

  it("that would not fit into a packet refuses its request, and the connection stays", async () => {
    const store = await zookeeper.store();
    const log = rule("log", slidingWindowLog("1000000/d"));
    const path = store.pathOf(log, "k");
    await ask(store, "take", log, "k");
    const full = 32_768;
    const marks = Array.from({ length: full }, (_, i) => [4e15 + i, 1e11 + i + 1]);
    const row = [full, 4e15 + full, 1e11, 0, full, ...marks.flat()];
    await peer().set(path, JSON.stringify({ row, expires_us: 9e15 }));
    const fresh = await zookeeper.store({ root: rootOf(path) });
    await expect(ask(fresh, "take", log, "k")).rejects.toMatchObject({ code: "HG_STORE_REFUSED", scope: "key" });
    expect((await ask(fresh, "take", log, "other")).allowed).toBe(true);
  });
});

describe("round trips", () => {
  it("are one for a request on a recently used key, and one more, for a read, otherwise", async () => {
    const store = await zookeeper.store();
    const trips = async (key: string, cost = 1): Promise<number> => {
      const { reads, writes } = store.stats;
      await ask(store, "take", daily, key, cost);
      return store.stats.reads + store.stats.writes - reads - writes;
    };
    await ask(store, "take", daily, "first");
    expect(await trips("new")).toBe(2);
    expect(await trips("new")).toBe(1);
    // A denial is read, and not remembered.
    expect(await trips("new", 1_000)).toBe(1);
    expect(await trips("new", 1_000)).toBe(1);
  });

  it("are one for several limits too", async () => {
    const store = await zookeeper.store();
    const operations = [operation(daily, "k"), operation(rule("other", fixedWindow("5/d")), "k")];
    await store.apply("take", operations);
    const { reads, writes } = store.stats;
    await store.apply("take", operations);
    expect(store.stats).toMatchObject({ reads, writes: writes + 1, conflicts: 0 });
  });

  it("are shared by the requests that wait for one key", async () => {
    const store = await zookeeper.store();
    await ask(store, "take", daily, "k");
    const { writes } = store.stats;
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(store, "take", daily, "k")));
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(99);
    expect(store.stats.writes - writes).toBe(1);
  });

  it("of two processes on one key meet in conflicts, and every request is charged once", async () => {
    const one = await zookeeper.store();
    const other = await zookeeper.store({ root: rootOf(one.pathOf(daily, "k")) });
    for (let i = 0; i < 20; i += 1) {
      await Promise.all([one, other].map((store) => ask(store, "take", daily, "k")));
    }
    expect(await remaining(one, daily, "k")).toBe(60);
    expect(await remaining(other, daily, "k")).toBe(60);
    expect(one.stats.conflicts + other.stats.conflicts).toBeGreaterThan(0);
  });

  it("of two processes that come to one key in turn begin with a read, not with a write that fails each time", async () => {
    const one = await zookeeper.store();
    const other = await zookeeper.store({ root: rootOf(one.pathOf(daily, "k")) });
    for (let i = 0; i < 10; i += 1) {
      for (const store of [one, other]) {
        await ask(store, "take", daily, "k");
        await delay(25);
      }
    }
    expect(await remaining(one, daily, "k")).toBe(80);
    for (const { stats } of [one, other]) expect(stats.conflicts).toBeLessThanOrEqual(1);
  });
});

function rootOf(path: string): string {
  return path.slice(0, path.indexOf("/", 1));
}

function peer(): Peer {
  return new Peer(zookeeper.server.address);
}
