import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import type { RedisServer } from "headgate-testkit/redis-server";
import { Cluster } from "ioredis";
import { afterAll, beforeAll, describe, expect, it, onTestFailed } from "vitest";
import { fixedWindow, type Rule } from "../../../../src/index.ts";
import { clusterOptions, RedisStore } from "../../../../src/redis.ts";
import { ask } from "../../conformance/context.ts";
import { charged, counts, type Ended, ended, Traffic, take } from "./calls.ts";

const keys = Array.from({ length: 30 }, (_, i) => `user${i}`);
const TIMEOUT = 1_000;

describe("a cluster under load that loses a master", () => {
  let cluster: RedisCluster;
  let client: Cluster;
  let store: RedisStore;
  /** For the keys of the other masters: a busy machine must not make their calls time out. */
  let patient: RedisStore;
  beforeAll(async () => {
    // As a limiter wants it: without one master, the others go on.
    cluster = await startCluster({ "cluster-require-full-coverage": "no" });
    client = new Cluster(cluster.addresses, clusterOptions);
    store = new RedisStore(client, { timeoutMs: TIMEOUT });
    patient = new RedisStore(client, { timeoutMs: 60_000 });
    for (const key of keys) await take(store, key);
  });
  afterAll(async () => {
    client?.disconnect();
    await cluster?.stop();
  });

  /** Keys of one master, and of the others. */
  async function keysBy(master: RedisServer): Promise<{ its: string[]; others: string[] }> {
    const owners = await Promise.all(keys.map((key) => cluster.masterOf(key)));
    return {
      its: keys.filter((_, i) => owners[i] === master),
      others: keys.filter((_, i) => owners[i] !== master),
    };
  }

  function until(what: string, call: () => Promise<Ended>): Promise<void> {
    return eventually(what, async () => (await call()).as === "allowed");
  }

  const sum = async (of: readonly string[]): Promise<number> => {
    const each = await Promise.all(of.map((key) => charged(store, key)));
    return each.reduce((a, b) => a + b, 0);
  };

  it.each<[what: string, lose: (master: RedisServer) => unknown, back: (master: RedisServer) => unknown]>([
    ["killed", (master) => master.kill(), (master) => master.restart()],
    ["frozen", (master) => master.pause(), (master) => master.resume()],
  ])(
    "%s: its keys fail by the deadline and work again after the failover, the others go on, and nothing is charged twice",
    async (_, lose, back) => {
      const [master] = await cluster.masters();
      const { its, others } = await keysBy(master);
      const limited: Rule = { name: `limited-${_}`, limit: fixedWindow("100/d", { anchor: "request" }) };
      const [victim] = its;
      for (let i = 0; i < 60; i += 1) await ask(store, "take", limited, victim);
      await eventually("its replica has all of it", () => isReplicated(master));
      const before = { its: await sum(its), others: await sum(others) };

      const traffic = new Traffic(store, its);
      const otherTraffic = new Traffic(patient, others);
      await delay(200);
      await lose(master);
      // The next test needs the whole cluster.
      onTestFailed(() => void back(master));
      const lost = performance.now();
      await delay(1_000);
      await until("one of its keys is answered again", () => take(store, victim));
      // That may have been by a redirection, before all nodes know the new master. The client may have asked one that
      // does not, and uses that answer until its next refresh, which waits up to a second for a frozen node.
      await cluster.settled();
      await delay(1_000);
      for (const key of its)
        await until(`${key} is answered, too`, () => ended(() => ask(store, "peek", limited, key)));
      const recovered = performance.now();
      await delay(300);
      const [calls, otherCalls] = await Promise.all([traffic.stop(), otherTraffic.stop()]);

      // A master that is frozen answers nothing before `back`: its calls can only have ended by their deadline.
      for (const { took } of calls) expect(took).toBeLessThan(10 * TIMEOUT);
      // The others go on, and do not wait for the failover.
      const meanwhile = otherCalls.filter(({ begun, took }) => begun > lost && begun + took < recovered);
      expect(meanwhile.length).toBeGreaterThan(0);
      expect(counts(otherCalls)).toEqual({ allowed: otherCalls.length });
      expect(await sum(others)).toBe(before.others + otherCalls.length);
      // Its own fail for a while, and all of those after the failover are answered.
      const { allowed, ...failed } = counts(calls);
      expect(Object.keys(failed).length).toBeGreaterThan(0);
      const since = calls.filter(({ begun }) => begun > recovered);
      expect(counts(since)).toEqual({ allowed: since.length });
      const charges = (await sum(its)) - before.its - 1;
      expect(charges).toBeLessThanOrEqual(calls.length);
      expect(charges).toBeGreaterThan(0.5 * allowed);

      // What was charged before and replicated is not forgotten, and not charged again.
      let admitted = 60;
      while ((await ended(() => ask(store, "take", limited, victim))).as === "allowed") admitted += 1;
      expect(admitted).toBe(100);

      await back(master);
      await cluster.settled();
      expect((await ended(() => ask(store, "take", limited, victim))).as).toBe("denied");
      expect((await take(store, victim)).as).toBe("allowed");
    },
  );
});

describe("a cluster that must cover all slots and loses a master", () => {
  let cluster: RedisCluster;
  let client: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ "cluster-require-full-coverage": "yes" });
    client = new Cluster(cluster.addresses, clusterOptions);
  });
  afterAll(async () => {
    client?.disconnect();
    await cluster?.stop();
  });

  it("keys of the other masters wait for the failover within their deadline, and are charged once", async () => {
    const patient = new RedisStore(client, { timeoutMs: 20_000, prefix: "patient" });
    const hasty = new RedisStore(client, { timeoutMs: 100, prefix: "hasty" });
    const [master] = await cluster.masters();
    const owners = await Promise.all(keys.map((key) => cluster.masterOf(key)));
    const [others, its] = [keys.filter((_, i) => owners[i] !== master), keys.filter((_, i) => owners[i] === master)];
    for (const key of keys) await take(patient, key);

    const traffic = new Traffic(patient, others);
    const hastyTraffic = new Traffic(hasty, others);
    await delay(100);
    await master.kill();
    await eventually("the cluster is down", async () => {
      const ends = await Promise.all(others.map((key) => take(hasty, key)));
      return ends.some(({ as }) => as === "HG_STORE_REFUSED");
    });
    await eventually("its keys are answered again", async () => {
      const ends = await Promise.all(its.map((key) => take(hasty, key)));
      return ends.every(({ as }) => as === "allowed");
    });
    const [calls, hastyCalls] = await Promise.all([traffic.stop(), hastyTraffic.stop()]);

    expect(counts(calls)).toEqual({ allowed: calls.length });
    const each = await Promise.all(others.map((key) => charged(patient, key)));
    expect(each.reduce((a, b) => a + b, 0)).toBe(calls.length + others.length);
    const refused = hastyCalls.filter(({ as }) => as === "HG_STORE_REFUSED");
    expect(refused.length).toBeGreaterThan(0);
    for (const { message } of refused) {
      expect(message).toMatch(/set cluster-require-full-coverage to no, .*\(CLUSTERDOWN /);
    }
  });
});

/** Whether a replica has what was written by now. WAIT would tell only of what its own connection wrote. */
async function isReplicated(master: RedisServer): Promise<boolean> {
  const told = await master.ask("INFO", "replication");
  const written = /^master_repl_offset:(\d+)/m.exec(told)?.[1];
  return new RegExp(`^slave\\d+:.*state=online,offset=${written},`, "m").test(told);
}
