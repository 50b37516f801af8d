import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "headgate-testkit/eventually";
import { headgate } from "headgate-testkit/headgate-command";
import { startRedis } from "headgate-testkit/redis-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-recording-"));
const recordings = join(folder, "recordings");
const nodes: NodeProcess[] = [];

afterAll(async () => {
  await Promise.all(nodes.map((node) => node.stop()));
  rmSync(folder, { recursive: true });
});

interface Limits {
  readonly limits: readonly { readonly rule_id: string; readonly source: string }[];
  readonly shadow_limits: readonly { readonly rule_id: string; readonly source: string }[];
}

/** The requests of a rule in the recordings of all nodes, as any of them lists them. */
async function recordedRequests(node: NodeProcess, rule: string): Promise<number> {
  let [found, query] = [0, "limit=100"];
  for (;;) {
    const response = await node.request("GET", `/api/v1/rules/${rule}/recording?${query}`);
    const answer = (await response.json()) as { scope: string; requests: readonly unknown[]; next?: string };
    const { scope, requests, next } = answer;
    expect(scope).toBe("node");
    found += requests.length;
    if (next === undefined) return found;
    query = `limit=100&cursor=${next}`;
  }
}

it("lets a replay reproduce every decision that the store made for two nodes", async () => {
  const redis = await startRedis();
  try {
    const env = {
      HEADGATE_ADMIN_KEY: "hg_test_0123456789abcdef0123456789abcdef",
      HEADGATE_RECORD_SECRET: "0123456789abcdef",
    };
    const flags = ["--redis", redis.url, "--record", recordings, "--record-one-in", "1", "--nodes", "2"];
    for (let i = 0; i < 2; i += 1) nodes.push(await startNode({ flags, env, data: folder }));
    const [first] = nodes;
    await first.addRule("bucket", "/counter/**", 40, { candidate: { limit: 20, algorithm: "fixed_window" } });
    await first.addRule("window", "/window/**", 30, { algorithm: "sliding_window_log", window_seconds: 3 });
    await first.addRule("counter", "/counter/**", 25, { algorithm: "sliding_window_counter", window_seconds: 3 });
    await first.addRule("leased", "/leased/**", 200, { algorithm: "fixed_window", consistency: "leased" });
    await first.addRule("share", "/window/**", 20, { algorithm: "gcra", enforce_share: 0.5, window_seconds: 5 });
    const sources = { store: 0, lease: 0, cache: 0, fallback: 0 };
    let leased = 0;
    const check = async (node: NodeProcess, i: number): Promise<void> => {
      const endpoint = `/${["window", "counter", "leased"][i % 3]}/x`;
      const body = { identifier: `u${i % 5}`, endpoint, cost: 1 + (i % 2), with_limits: true };
      // Some requests are retries of the one before.
      const idempotency = i % 7 < 2 ? { "x-idempotency-key": `k${i % 5}-${Math.floor(i / 7)}` } : {};
      const response = await node.request("POST", "/api/v1/check", body, idempotency);
      const { limits = [], shadow_limits = [] } = (await response.json()) as Partial<Limits>;
      for (const { source } of [...limits, ...shadow_limits]) sources[source as keyof typeof sources] += 1;
      leased += limits.filter(({ rule_id }) => rule_id === "leased").length;
    };
    const load = async (from: number, to: number): Promise<void> => {
      await Promise.all(
        nodes.map(async (node, n) => {
          for (let i = from; i < to; i += 10) {
            await Promise.all(Array.from({ length: 10 }, (_, j) => check(node, i + j + 3 * n)));
          }
        }),
      );
    };
    await load(0, 150);
    await nodes[1].request("POST", "/api/v1/reset", { identifier: "u1", dimension: "user" });
    await first.request("PUT", "/api/v1/rules/window", {
      rule_id: "window",
      name: "window",
      dimension: "user",
      endpoint_pattern: "/window/**",
      limit: 50,
      window_seconds: 3,
      algorithm: "sliding_window_log",
    });
    await load(150, 300);
    // Whether a lease or the store decided. What leases obtain from the store is not a request.
    await eventually("all decisions are written", async () => (await recordedRequests(first, "leased")) >= leased);
    expect(await recordedRequests(nodes[1], "leased")).toBe(leased);
    await Promise.all(nodes.splice(0).map((node) => node.stop()));

    const files = readdirSync(recordings).map((name) => join(recordings, name));
    expect(files).toHaveLength(2);
    const run = await headgate(["replay", "--recording", "--json", ...files]);
    expect(run.stderr).toBe("");
    const report = JSON.parse(run.stdout);
    expect(report.differences).toEqual([]);
    expect(run.code).toBe(0);
    expect(report).toMatchObject({ differing: 0, begun_before: 0, uncertain: 0, dropped: 0, bad_lines: 0 });
    expect(report.reproduced).toBe(report.decisions);
    // Every decision that clients were told is there. Leases and resets are operations of the store, too.
    expect(sources.store).toBeGreaterThan(500);
    expect(report.decisions).toBeGreaterThanOrEqual(sources.store);
    expect(sources.lease).toBeGreaterThan(0);
    expect(report.others.lease).toBe(sources.lease);
    const text = await headgate(["replay", "--recording", ...files]);
    expect(text.stdout).toMatch(
      /decisions of the store for \d+ keys, recorded by 2 processes\n {2}reproduced +[\d,]+\n/,
    );
  } finally {
    await redis.stop();
  }
});

const MB = 1024 * 1024;

/** A recording in three segments, as a process leaves it that ended a while ago. */
function addEnded(path: string, node: string, agoSeconds: number): void {
  for (let segment = 0; segment < 3; segment += 1) {
    const time = (Date.now() - agoSeconds * 1_000) * 1_000;
    const call = `["c",1,${time},"take","key",[[0,1]],[[1,1,0,1]]]\n`;
    const lines = [`["h",1,"${node}",1,1,[${segment},1]]\n`, call.repeat(Math.floor(MB / 4 / call.length))];
    const file = join(path, `${node}.00000${segment}.jsonl`);
    writeFileSync(file, lines.join(""));
    utimesSync(file, time / 1_000_000, time / 1_000_000);
  }
}

it("bounds the folder over restarts of a node and its workers, and leaves other files alone", async () => {
  const path = join(folder, "bounded");
  mkdirSync(path);
  const notes = `${"a".repeat(2 * MB)}\n`;
  writeFileSync(join(path, "notes.jsonl"), notes);
  for (let i = 1; i <= 3; i += 1) addEnded(path, `earlier-${i}`, 1_000 * i);
  const recorded = (): string[] => readdirSync(path).filter((name) => /\.\d+\.jsonl$/.test(name));
  const size = (): number => recorded().reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
  const processes = (): Set<string> => new Set(recorded().map((name) => name.split(".")[0]));
  const env = {
    HEADGATE_ADMIN_KEY: "hg_test_0123456789abcdef0123456789abcdef",
    HEADGATE_RECORD_SECRET: "0123456789abcdef",
  };
  const flags = ["--record", path, "--record-one-in", "1", "--record-max-mb", "1"];
  const [data, otherData] = [join(folder, "bounded-data"), join(folder, "other-data")];
  const other = await startNode({ flags, env, data: otherData });
  nodes.push(other);
  // A segment was deleted for each start, oldest first, and then only as many as necessary.
  expect(size()).toBeLessThanOrEqual(MB);
  expect(size()).toBeGreaterThan(MB / 2);
  expect([...processes()].filter((node) => node.startsWith("earlier"))).toEqual(["earlier-1"]);
  const [live = ""] = [...processes()].filter((node) => !node.startsWith("earlier"));

  const node = await startNode({ flags: [...flags, "--workers", "2"], env, data });
  nodes.push(node);
  await node.addRule("all", "/**", 1_000_000);
  for (let round = 0; round < 20; round += 1) {
    const checks = Array.from({ length: 50 }, (_, i) => ({
      identifier: `u${i}`,
      endpoint: `/${"long".repeat(9)}/${i}`,
    }));
    await Promise.all(checks.map((body) => node.request("POST", "/api/v1/check", body).then((r) => r.arrayBuffer())));
  }
  expect(size()).toBeLessThanOrEqual(MB);
  await node.kill();
  // Its workers end by themselves.
  const workers = [...processes()].filter((each) => each !== live && !each.startsWith("earlier"));
  expect(workers).toHaveLength(2);
  for (let i = 0; i < 3; i += 1) addEnded(path, `later-${i}`, 60 - i);
  expect(size()).toBeGreaterThan(2 * MB);
  const again = await startNode({ flags: [...flags, "--workers", "2"], env, data });
  nodes.push(again);
  expect(size()).toBeLessThanOrEqual(MB);
  expect(processes()).toContain(live);
  expect(processes()).toContain("later-2");
  expect(readFileSync(join(path, "notes.jsonl"), "utf8")).toBe(notes);
  await Promise.all(nodes.splice(0).map((each) => each.stop()));
  expect(readdirSync(path).filter((name) => name.endsWith(".lock"))).toEqual([]);
});
