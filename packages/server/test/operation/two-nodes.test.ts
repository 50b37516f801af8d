import { eventually } from "headgate-testkit/eventually";
import { type PostgresServer, startPostgres } from "headgate-testkit/postgres-server";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const PASSWORD = "redis-word-that-nobody-may-see";
const ADMIN_KEY = "admin-word-that-nobody-may-see";

describe("two nodes on one Redis and one PostgreSQL", () => {
  let redis: RedisServer;
  let postgres: PostgresServer;
  let left: NodeProcess;
  let right: NodeProcess;

  beforeAll(async () => {
    [redis, postgres] = await Promise.all([startRedis({ password: PASSWORD }), startPostgres()]);
    const env = {
      HEADGATE_REDIS: redis.url,
      HEADGATE_POSTGRES: await postgres.database(),
      HEADGATE_ADMIN_KEY: ADMIN_KEY,
    };
    // One after the other: both would make the tables.
    left = await startNode({ env, flags: ["--nodes", "2"] });
    right = await startNode({ env, flags: ["--nodes", "2"] });
  });
  afterAll(async () => {
    await Promise.all([left?.end(), right?.end()]);
    await Promise.all([redis?.stop(), postgres?.stop()]);
  });

  /** The seconds until the other node decides as it should. */
  async function secondsUntil(answer: () => Promise<boolean>): Promise<number> {
    const begin = performance.now();
    await eventually("the change is in force", answer);
    return (performance.now() - begin) / 1000;
  }

  async function limitOn(node: NodeProcess, user: string, endpoint: string): Promise<unknown> {
    const response = await node.request("GET", `/api/v1/explain?identifier=${user}&endpoint=${endpoint}`);
    const { answer } = (await response.json()) as { answer: { limit: unknown } };
    return answer.limit;
  }

  it("see each other's rules, tiers and overrides within a second", async () => {
    expect((await left.addRule("shared", "/shared", 10)).status).toBe(201);
    await secondsUntil(async () => (await limitOn(right, "a", "/shared")) === 10);
    expect((await right.addRule("shared-premium", "/shared", 50, { tier: "premium" })).status).toBe(201);
    const seconds: number[] = [];
    // The best of three: how long it takes is the nodes' matter, how busy the machine is not.
    for (const user of ["a", "b", "c"]) {
      expect((await left.request("PUT", `/api/v1/users/${user}/tier`, { tier: "premium" })).status).toBe(200);
      seconds.push(await secondsUntil(async () => (await limitOn(right, user, "/shared")) === 50));
    }
    expect(Math.min(...seconds)).toBeLessThan(1);
    const override = { limit: 70, reason: "a launch", duration_seconds: 60 };
    expect((await right.request("POST", "/api/v1/users/a/override", override)).status).toBe(201);
    await secondsUntil(async () => (await limitOn(left, "a", "/shared")) === 70);
  });

  it("share counts exactly", async () => {
    // What Redis does not answer in time, on a machine that is busy, is refused and not decided here.
    await left.addRule("exact", "/exact", 40, { window_seconds: 3600, on_error: "deny" });
    await eventually("both know the rule", async () => (await limitOn(right, "b", "/exact")) === 40);
    const statuses = await Promise.all(
      Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? left : right).check("b", "/exact")),
    );
    const [passed, refused, unanswered] = [200, 429, 503].map((each) => statuses.filter((s) => s === each).length);
    expect(passed).toBeLessThanOrEqual(40);
    expect(passed + unanswered).toBeGreaterThanOrEqual(40);
    expect(passed + unanswered + refused).toBe(100);
  });

  it("report the most denied identities of both", async () => {
    await left.addRule("denied", "/denied", 1, { window_seconds: 3600, on_error: "deny" });
    await eventually("both know the rule", async () => (await limitOn(right, "often", "/denied")) === 1);
    const refused = [0, 0];
    for (let i = 0; i < 12; i += 1) {
      const status = await (i % 2 === 0 ? left : right).check("often", "/denied");
      if (status !== 200) refused[i % 2] += 1;
    }
    expect(Math.min(...refused)).toBeGreaterThan(0);
    for (const node of [left, right]) {
      await eventually("it knows of both", async () => {
        const { keys, nodes } = (await (await node.request("GET", "/api/v1/top-denied")).json()) as {
          keys: { identifier: string; denied: number }[];
          nodes: number;
        };
        const often = keys.find(({ identifier }) => identifier === "often");
        return nodes === 2 && often?.denied === refused[0] + refused[1];
      });
    }
  });

  it("count together what an admin changes", async () => {
    const made = await left.request("POST", "/api/v1/keys", { name: "busy", roles: ["write"] });
    const { key } = (await made.json()) as { key: string };
    const authorization = `Bearer ${key}`;
    const leftOf = async (node: NodeProcess) => {
      const { headers } = await node.request("PUT", "/api/v1/users/z/tier", { tier: "a" }, { authorization });
      return Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
    };
    await eventually("half of it is used", async () => {
      // Together, because on a busy machine quota returns while requests are answered one after the other.
      return Math.min(...(await Promise.all(Array.from({ length: 60 }, () => leftOf(left))))) < 50;
    });
    // Once: asking uses it, too.
    expect(await leftOf(right)).toBeLessThan(80);
  });

  it("keep deciding by the last known rules while PostgreSQL is restarted under load", async () => {
    await left.addRule("steady", "/steady", 1_000_000);
    expect(await left.check("c", "/steady")).toBe(200);
    const statuses = new Map<number, number>();
    let isOver = false;
    const load = Promise.all(
      Array.from({ length: 4 }, async (_, i) => {
        while (!isOver) {
          const status = await left.check(i % 2 === 0 ? "c" : `new-${Math.random()}`, "/steady");
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
      }),
    );
    await postgres.kill();
    await eventually("checks are decided without it", async () => (statuses.get(200) ?? 0) > 50);
    expect((await left.addRule("late", "/late", 1)).status).toBe(503);
    expect((await fetch(`${left.url}/readyz`)).status).toBe(200);
    // Nothing was changed or requested there.
    await eventually("it says that the database is gone", async () => {
      const metrics = await (await right.request("GET", "/metrics")).text();
      return /^headgate_rules_stale 1$/m.test(metrics);
    });
    await postgres.start();
    await eventually("rules can be changed again", async () => (await left.addRule("late", "/late", 1)).status === 201);
    await secondsUntil(async () => (await limitOn(right, "d", "/late")) === 1);
    isOver = true;
    await load;
    expect([...statuses.keys()]).toEqual([200]);
  });

  it("follow on_error while Redis is unavailable, report it, and recover by themselves", async () => {
    await left.addRule("closed", "/closed", 5, { on_error: "deny" });
    await left.addRule("open", "/open", 5, { on_error: "allow" });
    const before = left.log.length;
    const since = (start: string) => left.log.slice(before).some(({ msg }) => String(msg).startsWith(start));
    await redis.kill();
    await eventually("the store is considered down", async () => {
      await left.check("e", "/open");
      return since("the store is down");
    });
    expect(await left.check("e", "/closed")).toBe(503);
    expect(await left.check("e", "/open")).toBe(200);
    const metrics = await (await left.request("GET", "/metrics")).text();
    expect(metrics).toMatch(/^headgate_store_breaker_open 1$/m);
    expect(metrics).toMatch(/^headgate_store_errors_total\{code="HG_STORE_UNREACHABLE"\} [1-9]/m);
    await redis.start();
    await eventually("the store is back", async () => (await left.check("e", "/closed")) === 200);
    expect(since("the store is back")).toBe(true);
  });

  it("return their leases when they stop, so that other nodes can use the quota", async () => {
    const rule = { window_seconds: 86_400, algorithm: "fixed_window", consistency: "leased" };
    await left.addRule("leased", "/leased", 100_000, rule);
    await eventually("both know the rule", async () => (await limitOn(right, "f", "/leased")) === 100_000);
    let passed = 0;
    await eventually("the node holds a lease", async () => {
      const statuses = await Promise.all(Array.from({ length: 20 }, () => left.check("f", "/leased")));
      passed += statuses.filter((status) => status === 200).length;
      const metrics = await (await left.request("GET", "/metrics")).text();
      return /^headgate_lease_held_units [1-9]/m.test(metrics);
    });
    expect(await left.stop()).toBe(0);
    const take = async (cost: number) =>
      (await right.request("POST", "/api/v1/check", { identifier: "f", endpoint: "/leased", cost })).status;
    expect(await take(100_000 - passed)).toBe(200);
    expect(await take(1)).toBe(429);
  });

  it("exit with 0, and have not leaked a secret", async () => {
    expect(await right.stop()).toBe(0);
    for (const node of [left, right]) {
      expect(node.log.length).toBeGreaterThanOrEqual(3);
      expect(node.stderr.split("\n").every((line) => line === "" || line.startsWith("{"))).toBe(true);
      for (const secret of [PASSWORD, ADMIN_KEY, postgres.password]) {
        expect(`${node.stdout}${node.stderr}`).not.toContain(secret);
      }
    }
  });
});
