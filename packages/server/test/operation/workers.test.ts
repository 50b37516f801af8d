import { readFileSync } from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { eventually } from "headgate-testkit/eventually";
import { startRedis } from "headgate-testkit/redis-server";
import { type NodeOptions, NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterEach, describe, expect, it } from "vitest";
import { ownerOf } from "../../src/workers/worker-place.ts";

const WORKERS = 2;
/** How long replacing all workers may take on a machine that is busy with other things. */
const REPLACED_MS = 90_000;

let node: NodeProcess | undefined;
afterEach(() => node?.end());

async function start({ flags = [], ...options }: NodeOptions = {}): Promise<NodeProcess> {
  node = await startNode({ ...options, flags: ["--workers", String(WORKERS), ...flags] });
  return node;
}

/** The processes of the workers, in the order of their numbers. */
function workersOf({ child: { pid } }: NodeProcess): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return children.split(" ").map(Number);
}

/** A user whose keys this worker counts. */
function userOf(worker: number, name: string): string {
  for (let i = 0; ; i += 1) if (ownerOf(`user:${name}${i}`, WORKERS) === worker) return `${name}${i}`;
}

/** Sends checks of one user on many connections, and counts the statuses. */
async function statusesOf(node: NodeProcess, user: string, count: number): Promise<Record<number, number>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  const statuses = await Promise.all(Array.from({ length: count }, () => check(node, user, agent)));
  agent.destroy();
  const counts: Record<number, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function check(node: NodeProcess, user: string, agent: Agent): Promise<number> {
  const { hostname, port } = new URL(node.url);
  const body = JSON.stringify({ identifier: user, endpoint: "/limited" });
  const headers = { authorization: `Bearer ${node.key}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const asked = request({ hostname, port, path: "/api/v1/check", method: "POST", agent, headers });
    asked.on("error", reject).on("response", (response: IncomingMessage) => {
      response.on("error", reject).on("end", () => resolve(Number(response.statusCode)));
      response.resume();
    });
    asked.end(body);
  });
}

/** The status of `/healthz`, asked for on a connection of its own. */
function healthOf(node: NodeProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${node.url}/healthz`, { agent: false, timeout: 10_000 });
    asked.on("error", reject).on("timeout", () => asked.destroy(new Error("the request was not answered")));
    asked.on("response", (response) => resolve(Number(response.resume().statusCode))).end();
  });
}

describe("a node with several workers", () => {
  it("charges identities of different workers together, and follows the calendar of a rule", async () => {
    const node = await start();
    const monthly = { window_seconds: null, algorithm: "fixed_window", calendar: "month", time_zone: "Europe/Berlin" };
    await node.addRule("limited", "/limited", 20, monthly);
    const identities = [0, 1].map((worker) => ({ identifier: userOf(worker, "t") }));
    const ask = (path: string, body: object): Promise<Response> => node.request("POST", path, body);
    const together = { identities, endpoint: "/limited", with_limits: true };
    // New connections, so that both workers are asked.
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async () => (await ask("/api/v1/check", together)).status),
    );
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(20);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    const left = await ask("/api/v1/check", { ...together, cost: 0 });
    const { limits } = (await left.json()) as { limits: { remaining: number; reset_at_ms: number }[] };
    const passed = statuses.filter((status) => status === 200).length;
    expect(limits.map(({ remaining }) => remaining)).toEqual([20 - passed, 20 - passed]);
    const ends = new Intl.DateTimeFormat("sv-SE", {
      timeZone: "Europe/Berlin",
      dateStyle: "short",
      timeStyle: "medium",
    });
    expect(ends.format(limits[0].reset_at_ms)).toMatch(/^\d{4}-\d\d-01 00:00:00$/);
    const refunded = await ask("/api/v1/refund", { ...together, cost: 1 });
    expect(await refunded.json()).toMatchObject({ allowed: true, remaining: 21 - passed });
  });

  it("counts exactly in memory, whichever worker counts a key and whichever is asked", async () => {
    const node = await start();
    await node.addRule("limited", "/limited", 100, { window_seconds: 3600 });
    for (const worker of [0, 1]) {
      expect(await statusesOf(node, userOf(worker, "u"), 300)).toEqual({ 200: 100, 429: 200 });
    }
    const text = await (await node.request("GET", "/metrics")).text();
    const checked = [...text.matchAll(/^headgate_checks_total\{.*worker="(\d)".*\} (\d+)$/gm)];
    expect(new Set(checked.map(([, worker]) => worker))).toEqual(new Set(["0", "1"]));
    expect(checked.reduce((sum, [, , count]) => sum + Number(count), 0)).toBe(600);
    expect(text.match(/^# TYPE headgate_checks_total /gm)).toHaveLength(1);
  });

  it("has a change in force in all workers when it is acknowledged", async () => {
    const node = await start();
    for (let i = 0; i < 5; i += 1) {
      await node.addRule(`limited-${i}`, "/limited", 1, { rule_id: `limited-${i}`, window_seconds: 3600 });
      const counts = await statusesOf(node, userOf(i % WORKERS, `u${i}-`), 32);
      expect(counts).toEqual({ 200: 1, 429: 31 });
      expect((await node.request("DELETE", `/api/v1/rules/limited-${i}`)).status).toBe(204);
      expect(await statusesOf(node, "anyone", 8)).toEqual({ 200: 8 });
    }
  });

  it("outlives a worker that is killed: its keys follow on_error until another has taken its place", async () => {
    const node = await start();
    await node.addRule("limited", "/limited", 1, { window_seconds: 3600, on_error: "deny" });
    const [kept, lost] = [userOf(0, "u"), userOf(1, "u")];
    for (const user of [kept, lost]) expect(await node.check(user, "/limited")).toBe(200);
    const [first, second] = workersOf(node);
    process.kill(second, "SIGKILL");
    await eventually("the loss is noticed", async () => (await node.check(lost, "/limited")) === 503);
    expect(await node.check(kept, "/limited")).toBe(429);
    const isReplaced = async (): Promise<boolean> => (await node.check(lost, "/limited")) === 200;
    await eventually("another has taken its place", isReplaced, REPLACED_MS);
    expect(await node.check(lost, "/limited")).toBe(429);
    expect(await node.check(kept, "/limited")).toBe(429);
    expect(workersOf(node)).toContain(first);
    expect(workersOf(node)).toHaveLength(WORKERS);
  });

  it("answers requests on new connections while a worker is frozen, and after it is killed", async () => {
    const node = await start();
    const [, second] = workersOf(node);
    process.kill(second, "SIGSTOP");
    const statuses = Promise.all(Array.from({ length: 8 }, () => healthOf(node)));
    await eventually("a request is answered", async () => (await healthOf(node)) === 200);
    process.kill(second, "SIGKILL");
    expect(new Set(await statuses)).toEqual(new Set([200]));
  });

  it("answers every accepted request when it stops, and counts exactly to the end", async () => {
    const node = await start();
    await node.addRule("limited", "/limited", 1_000_000, { window_seconds: 3600, on_error: "deny" });
    const answers: unknown[] = [];
    const clients = Array.from({ length: 8 }, async (_, i) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (;;) {
        try {
          answers.push(await check(node, `user-${i}`, agent));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") return;
          answers.push(error);
        }
      }
    });
    await eventually("clients are answered", async () => answers.length > 200);
    expect(await node.stop()).toBe(0);
    await Promise.all(clients);
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(node.log.map(({ msg }) => msg)).toEqual(expect.arrayContaining(["ready", "stopping", "stopped"]));
  });

  it("stops while a worker that has just ended is not replaced yet", async () => {
    const node = await start();
    const [, second] = workersOf(node);
    // Within its first seconds: it is replaced only after a pause.
    process.kill(second, "SIGKILL");
    await eventually("the loss is noticed", async () =>
      node.log.some(({ msg }) => msg === "a worker ended: starting another"),
    );
    expect(await node.stop()).toBe(0);
  });

  it("restarts its workers one after the other on SIGUSR2, and keeps counting in Redis", async () => {
    const redis = await startRedis();
    const node = await start({ flags: ["--redis", redis.url] });
    await node.addRule("limited", "/limited", 3, { window_seconds: 3600 });
    expect(await node.check("a", "/limited")).toBe(200);
    const before = workersOf(node);
    node.child.kill("SIGUSR2");
    const statuses: number[] = [];
    const areReplaced = async (): Promise<boolean> => {
      statuses.push((await node.request("GET", "/healthz")).status);
      return node.log.filter(({ msg }) => msg === "the worker is ready").length === WORKERS;
    };
    await eventually("all are replaced", areReplaced, REPLACED_MS);
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(workersOf(node).filter((pid) => before.includes(pid))).toEqual([]);
    expect(await statusesOf(node, "a", 10)).toEqual({ 200: 2, 429: 8 });
    await redis.stop();
  });

  it("fails to start like a single process: with the worker's message and code", async () => {
    node = new NodeProcess({ flags: ["--workers", "2", "--rules", "/nowhere/rules.yaml"] });
    expect(await node.ended).toBe(2);
    expect(node.stderr).toMatch(/^headgate: .*\/nowhere\/rules\.yaml/m);
  });

  it.each(["0", "many", "1.5", "257"])("rejects --workers %s", async (workers) => {
    node = new NodeProcess({ flags: ["--workers", workers] });
    expect(await node.ended).toBe(1);
    expect(node.stderr).toBe(
      `headgate: --workers: must be a whole number from 1 to 256, or auto, got ${JSON.stringify(workers)}\n`,
    );
  });
});
