import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "headgate-testkit/eventually";
import { freePort } from "headgate-testkit/free-port";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EnvoyServer, envoyConfig, whyNoEnvoy } from "./envoy-server.ts";

const CONFIG = `
domain: edge
descriptors:
  - { key: user, rate_limit: { unit: day, requests_per_unit: 2 } }
`;
const RULES = `
rules:
  - { name: Per address, dimension: ip, endpoint_pattern: /checked/**, limit: 2, window_seconds: 86400, algorithm: fixed_window }
`;

const reason = whyNoEnvoy();
if (reason !== undefined) console.warn(`skipped: ${reason}`);

describe.skipIf(reason !== undefined)("a real Envoy in front", { timeout: 120_000 }, () => {
  let folder: string;
  let upstream: Server;
  let headgate: NodeProcess;
  let headgatePort: number;
  let open: EnvoyServer;
  let closed: EnvoyServer;

  async function startHeadgate(): Promise<NodeProcess> {
    const listeners = ["--envoy", `127.0.0.1:${headgatePort}`, "--envoy-anonymous", "--envoy-config", folder];
    return startNode({ flags: [...listeners, "--rules", join(folder, "rules.txt")] });
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "headgate-envoy-"));
    writeFileSync(join(folder, "edge.yaml"), CONFIG);
    writeFileSync(join(folder, "rules.txt"), RULES);
    upstream = createServer((_, response) => response.end("hello")).listen(0, "127.0.0.1");
    headgatePort = await freePort();
    headgate = await startHeadgate();
    const addresses = { upstream: (upstream.address() as AddressInfo).port, headgate: headgatePort };
    const [openPort, closedPort] = [await freePort(), await freePort()];
    open = new EnvoyServer(openPort, envoyConfig({ ...addresses, port: openPort, isClosed: false }));
    closed = new EnvoyServer(closedPort, envoyConfig({ ...addresses, port: closedPort, isClosed: true }));
    await Promise.all([open.start(), closed.start()]);
  }, 120_000);

  afterAll(async () => {
    await Promise.all([open?.stop(), closed?.stop()]);
    await headgate?.end();
    upstream?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  async function get(path: string, user?: string, envoy = open) {
    const headers = user === undefined ? {} : { "x-user": user };
    const response = await fetch(`http://127.0.0.1:${envoy.port}${path}`, { headers });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  it("limits a route with the rate limit filter, with headers and a problem for the client", async () => {
    const first = await get("/limited", "ann");
    expect(first).toMatchObject({ status: 200, text: "hello" });
    expect(first.headers.get("ratelimit-policy")).toBe('"edge.user";q=2;w=86400');
    expect(first.headers.get("ratelimit")).toMatch(/^"edge\.user";r=1;t=\d+$/);
    expect(await get("/limited", "ann")).toMatchObject({ status: 200 });
    const denied = await get("/limited", "ann");
    expect(denied.status).toBe(429);
    expect(denied.headers.get("ratelimit")).toMatch(/^"edge\.user";r=0;t=\d+$/);
    expect(Number(denied.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(denied.headers.get("content-type")).toBe("application/problem+json");
    expect(JSON.parse(denied.text)).toMatchObject({ status: 429, "violated-policies": ["edge.user"] });
    expect(await get("/limited", "bob")).toMatchObject({ status: 200 });
    expect(await get("/limited")).toMatchObject({ status: 200 });
  });

  it("limits a route with the ext_authz filter under the rules of the service", async () => {
    const first = await get("/checked/a");
    expect(first).toMatchObject({ status: 200, text: "hello" });
    expect(first.headers.get("ratelimit")).toMatch(/^"per-address";r=1;t=\d+$/);
    expect(await get("/checked/b")).toMatchObject({ status: 200 });
    const denied = await get("/checked/c");
    expect(denied.status).toBe(429);
    expect(denied.headers.get("content-type")).toBe("application/problem+json");
    expect(Number(denied.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(JSON.parse(denied.text)).toMatchObject({ status: 429, "violated-policies": ["per-address"] });
    expect(await get("/open")).toMatchObject({ status: 200 });
  });

  it("answers by its own failure mode while Headgate is frozen, and by its limits afterwards", async () => {
    headgate.child.kill("SIGSTOP");
    try {
      expect(await get("/limited", "ann")).toMatchObject({ status: 200 });
      expect(await get("/checked/a")).toMatchObject({ status: 200 });
      expect(await get("/limited", "carl", closed)).toMatchObject({ status: 500 });
      expect(await get("/checked/a", undefined, closed)).toMatchObject({ status: 403 });
    } finally {
      headgate.child.kill("SIGCONT");
    }
    await eventually("the limit applies again", async () => (await get("/limited", "ann")).status === 429);
    // What was asked while it was frozen came too late, and was not charged.
    await eventually(
      "a key that was not charged passes",
      async () => (await get("/limited", "carl", closed)).status === 200,
    );
  });

  it("answers by its own failure mode while Headgate is down, and by its limits once it is back", async () => {
    await headgate.kill();
    expect(await get("/limited", "ann")).toMatchObject({ status: 200 });
    expect(await get("/limited", "ann", closed)).toMatchObject({ status: 500 });
    expect(await get("/checked/a", undefined, closed)).toMatchObject({ status: 403 });
    headgate = await startHeadgate();
    await eventually("it is limited again", async () => (await get("/limited", "dora")).headers.has("ratelimit"));
  });
});
