import { fixedWindow } from "headgate";
import { RedisStore } from "headgate/redis";
import { makeCertificate } from "headgate-testkit/certificate";
import { eventually } from "headgate-testkit/eventually";
import { ForkedProcess } from "headgate-testkit/forked-process";
import { type RedisCluster, startCluster } from "headgate-testkit/redis-cluster";
import { type RedisSentinels, startSentinels } from "headgate-testkit/redis-sentinels";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readSettings } from "../../src/config/read-settings.ts";
import { doctor } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";

const PASSWORD = "planted-pass,word@sign";
const users = Array.from({ length: 30 }, (_, i) => `u${i}`);
const tls = makeCertificate();

/** A node with a rule of one a day, which denies while Redis does not answer. */
async function started(redis: string): Promise<NodeProcess> {
  // A busy machine is not a failing store.
  const node = await startNode({ flags: ["--redis", redis, "--store-timeout", "1s"] });
  await node.addRule("once", "/once", 1, { window_seconds: 86_400, on_error: "deny" });
  await node.addRule("many", "/many", 1_000_000, { window_seconds: 86_400, on_error: "deny" });
  return node;
}

async function examined(redis: string): Promise<ReadonlyMap<string, Finding>> {
  const { settings } = await readSettings({ flags: { redis }, env: {} });
  return new Map((await doctor(settings)).map((finding) => [finding.about, finding]));
}

async function storeOf(node: NodeProcess): Promise<unknown> {
  const { store } = (await (await fetch(`${node.url}/readyz`)).json()) as { store: unknown };
  return store;
}

/** What Redis decides for each user. A busy machine may be too slow for a call now and then; then it is made again. */
async function statuses(node: NodeProcess, endpoint: string, of: readonly string[] = users): Promise<number[]> {
  return Promise.all(
    of.map(async (user) => {
      let status = 503;
      await eventually(`Redis decides for ${user}`, async () => {
        status = await node.check(user, endpoint);
        return status !== 503;
      });
      return status;
    }),
  );
}

describe("a node whose counters are in a Redis Cluster with TLS and a password", () => {
  let cluster: RedisCluster;
  let node: NodeProcess;
  beforeAll(async () => {
    cluster = await startCluster({ "cluster-require-full-coverage": "no" }, { password: PASSWORD, tls });
    node = await started(cluster.nodes[0].url);
  });
  afterAll(async () => {
    await node?.end();
    await cluster?.stop();
  });

  it("lets Redis decide for every user, though --redis names a single node", async () => {
    expect(await statuses(node, "/once")).toEqual(users.map(() => 200));
    expect(await statuses(node, "/once")).toEqual(users.map(() => 429));
    await eventually("it says so", async () => (await storeOf(node)) === "reachable");
    expect(node.stderr).not.toMatch(/MOVED|CROSSSLOT/);
  });

  it("charges several identities together, though they are on different masters", async () => {
    await node.addRule("together", "/together", 3, { window_seconds: 86_400, on_error: "deny" });
    const ask = async (names: readonly string[], cost = 1): Promise<Record<string, unknown>> => {
      const identities = names.map((identifier) => ({ identifier }));
      const body = { identities, endpoint: "/together", cost, with_limits: true };
      let answer: Record<string, unknown> = { status: 503 };
      await eventually("Redis decides", async () => {
        const response = await node.request("POST", "/api/v1/check", body);
        answer = { ...((await response.json()) as object), status: response.status };
        return response.status !== 503;
      });
      return answer;
    };
    const [first, ...others] = users.slice(0, 8);
    expect(await ask([first, ...others])).toMatchObject({
      status: 200,
      limits: users.slice(0, 8).map(() => ({ remaining: 2 })),
    });
    expect(await ask([others[6]], 2)).toMatchObject({ status: 200 });
    // The last one denies, so the others get back what they were charged.
    expect(await ask([first, ...others])).toMatchObject({ status: 429, "violated-policies": ["together"] });
    expect(await ask([first, ...others.slice(0, 6)], 0)).toMatchObject({
      limits: users.slice(0, 7).map(() => ({ remaining: 2 })),
    });
  });

  it("returns what was charged by a process that was killed between two identities", async () => {
    const store = new RedisStore(cluster.url, { timeoutMs: 60_000 });
    try {
      const left = async (keys: readonly string[]): Promise<number[]> => {
        const rule = { name: "killed", limit: fixedWindow("5/d") };
        const answers = await Promise.all(keys.map((key) => store.apply("peek", [{ rule, key, cost: 0 }])));
        return answers.map(([{ remaining }]) => remaining);
      };
      const killed = ([keys, at, when]: readonly [readonly string[], number, string]) => {
        const args = [JSON.stringify({ url: cluster.url, keys, at, when })];
        const child = new ForkedProcess(new URL("killed-between-takes.mjs", import.meta.url), args);
        return child.next<{ readonly answers: readonly { readonly remaining: number }[] }>();
      };
      const deaths = [
        [["user:k0", "user:k1"], 0, "after"],
        [["user:k2", "user:k3"], 1, "before"],
        [["user:k4", "user:k5"], 1, "after"],
      ] as const;
      const said = await Promise.all(deaths.map(killed));
      // The first key was charged in each of them, and only the journal is left to return it.
      expect(said.map(({ answers }) => answers.map(({ remaining }) => remaining))).toEqual([[3], [], [3]]);
      const keys = deaths.flatMap(([pair]) => pair);
      await eventually("the node has given everything back", async () => {
        return (await left(keys)).every((units) => units === 5) && (await store.journal.list(10)).length === 0;
      });
    } finally {
      await store.close();
    }
  });

  it("loses only the keys of a failed master, reports which it is, and uses it again when it is back", async () => {
    const [first] = cluster.nodes;
    const masters = await cluster.masters();
    const master = masters.find((each) => each !== first) ?? masters[0];
    const owners = await Promise.all(users.map((user) => cluster.masterOf(`user:${user}`)));
    const others = users.filter((_, i) => owners[i] !== master);
    // Without a replica there is no failover.
    const [replica] = await cluster.replicasOf(master);
    await replica.kill();
    await master.kill();
    await eventually("it is noticed without any check", async () => (await storeOf(node)) === "partial");
    expect(node.log).toContainEqual(
      expect.objectContaining({
        level: "error",
        node: `127.0.0.1:${master.port}`,
        msg: expect.stringMatching(/is down/),
      }),
    );
    expect(await statuses(node, "/many", others)).toEqual(others.map(() => 200));
    for (const user of users.filter((each) => !others.includes(each)))
      expect(await node.check(user, "/many")).toBe(503);
    const failing = await examined(cluster.url);
    expect(failing.get(`redis 127.0.0.1:${master.port}`)).toMatchObject({
      level: "fail",
      message: expect.stringMatching(/announces this address.*ECONNREFUSED/),
    });

    await master.restart();
    await eventually("it is back", async () => (await storeOf(node)) === "reachable");
    expect(await statuses(node, "/many")).toEqual(users.map(() => 200));
    await replica.restart();
    await cluster.settled();
    expect(node.stderr + node.stdout).not.toContain("planted");
  });

  it("is examined by the doctor: every master, and what would make it refuse", async () => {
    const well = await examined(cluster.url);
    expect(well.get("redis")).toMatchObject({ level: "ok", message: expect.stringMatching(/cluster with 3 masters/) });
    expect(well.get("redis masters")?.level).toBe("ok");
    expect(well.get("redis cluster")?.level).toBe("ok");
    expect(well.has("redis address")).toBe(false);

    const [master, other] = await cluster.masters();
    await Promise.all(cluster.nodes.map((node) => node.ask("CONFIG", "SET", "cluster-require-full-coverage", "yes")));
    await other.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await other.ask("CONFIG", "SET", "maxmemory", "100mb");
    const ill = await examined(master.url);
    expect(ill.get("redis address")).toMatchObject({ level: "warn", message: expect.stringMatching(/single node/) });
    expect(ill.get("redis cluster")).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/cluster-require-full-coverage is yes.*Set it to no/),
    });
    expect(ill.get(`redis eviction 127.0.0.1:${other.port}`)?.level).toBe("fail");
    const wrong = (await examined(cluster.url.replace(/:\/\/.*@/, "://:planted-other@"))).get("redis");
    expect(wrong).toMatchObject({ level: "fail", message: expect.stringMatching(/WRONGPASS/) });
    expect(wrong?.message).not.toContain("planted");
  });
});

describe("a node whose counters are behind sentinels with TLS and passwords", () => {
  let all: RedisSentinels;
  beforeAll(async () => {
    all = await startSentinels({ password: PASSWORD, sentinelPassword: "planted-for-sentinels", tls });
  });
  let node: NodeProcess | undefined;
  afterAll(async () => {
    await node?.end();
    await all?.stop();
  });

  it("follows a failover, and the doctor finds the master", async () => {
    const findings = await examined(all.url);
    expect(findings.get("redis role")).toMatchObject({ level: "ok", message: "master" });
    const unknown = (await examined(all.url.replace("/mymaster", "/other"))).get("redis");
    expect(unknown).toMatchObject({ level: "fail", message: expect.stringMatching(/No such master/) });

    const running = await started(all.url);
    node = running;
    expect(await statuses(running, "/once")).toEqual(users.map(() => 200));
    await eventually("the replica has all", async () => {
      return (await all.replica.ask("KEYS", "*/once*")).split("\n").length >= users.length;
    });
    await all.master.kill();
    await eventually("the new master decides", async () => (await running.check("u0", "/many")) === 200, 100_000);
    expect(await statuses(running, "/once")).toEqual(users.map(() => 429));
    await eventually("it says so", async () => (await storeOf(running)) === "reachable");
    expect(running.stderr + running.stdout).not.toContain("planted");
    expect(await running.stop()).toBe(0);
  });
});
