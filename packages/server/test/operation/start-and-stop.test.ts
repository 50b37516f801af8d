import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { promisify } from "node:util";
import { credentials, Metadata } from "@grpc/grpc-js";
import { eventually } from "headgate-testkit/eventually";
import { freePort } from "headgate-testkit/free-port";
import { type NodeOptions, NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterEach, describe, expect, it } from "vitest";
import { RateLimiterClient } from "../transports/grpc/generated/headgate/v1/rate_limiter.ts";
import { check } from "../transports/grpc/requests.ts";

const run = promisify(execFile);

const nodes: NodeProcess[] = [];
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.end()));
});

async function started(options?: NodeOptions): Promise<NodeProcess> {
  const node = await startNode(options);
  nodes.push(node);
  return node;
}

async function refused(options: NodeOptions): Promise<{ code: number | NodeJS.Signals; line: string }> {
  const node = new NodeProcess(options);
  nodes.push(node);
  const code = await node.ended;
  return { code, line: node.stderr };
}

describe("a node on a fresh machine", () => {
  it("prints what to try next, in commands that work as they are, and keeps what they created", async () => {
    const first = await started();
    expect(first.stdout).toMatch(/^headgate \d+\.\d+\.\d+ is ready$/m);
    const lines = first.stdout.split("\n").filter((line) => line.trim().startsWith("curl "));
    expect(lines).toHaveLength(2);
    const answers = [];
    for (const line of lines) answers.push((await run("sh", ["-c", `${line} -s`])).stdout);
    expect(answers[0]).toMatch(/^HTTP\/1\.1 201 /);
    expect(answers[1]).toMatch(/^HTTP\/1\.1 200 /);
    expect(answers[1]).toContain('"rule_id":"hello"');
    for (let i = 0; i < 4; i += 1) expect(await first.check("alice", "/hello")).toBe(200);
    expect(await first.check("alice", "/hello")).toBe(429);
    const { key } = first;
    expect(await first.stop()).toBe(0);

    const second = await started({ data: first.data });
    expect(second.stdout).not.toContain("hg_");
    const rules = await fetch(`${second.url}/api/v1/rules`, { headers: { authorization: `Bearer ${key}` } });
    expect(await rules.json()).toMatchObject({ rules: [{ rule_id: "hello", limit: 5 }] });
    const asked = second.stdout.split("\n").filter((line) => line.trim().startsWith("curl "));
    expect(asked).toHaveLength(1);
    expect((await run("sh", ["-c", `${asked[0].replace("YOUR_KEY", key)} -s`])).stdout).toMatch(/^HTTP\/1\.1 200 /);
  });

  it("answers over REST and gRPC with one count", async () => {
    const node = await started({ env: { HEADGATE_ADMIN_KEY: "chosen-by-the-operator" } });
    expect(node.stdout).not.toMatch(/hg_|chosen-by/);
    await node.addRule("two", "/two", 2);
    expect(await node.check("bob", "/two")).toBe(200);
    const client = new RateLimiterClient(node.grpcAddress, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${node.key}`);
    const request = check({ identifier: "bob", endpoint: "/two" });
    const ask = () =>
      new Promise<{ allowed: boolean }>((resolve, reject) => {
        client.checkRateLimit(request, metadata, (error, answer) => (error === null ? resolve(answer) : reject(error)));
      });
    expect(await ask()).toMatchObject({ allowed: true });
    expect(await ask()).toMatchObject({ allowed: false });
    expect(await node.check("bob", "/two")).toBe(429);
    client.close();
    expect(await node.stop()).toBe(0);
  });
});

describe("a node that is asked to stop", () => {
  it("answers what it has accepted, writes what it has counted, and ends with 0", async () => {
    const node = await started();
    await node.addRule("many", "/many", 1000);
    const begun = await halfARequest(new URL(node.url), node.key);
    const other = await halfARequest(new URL(node.url), node.key);
    const ended = node.stop();
    await eventually("it stops", async () => node.log.some(({ msg }) => msg === "stopping"));
    expect(await restOfIt(begun)).toMatch(/^HTTP\/1\.1 200 /);
    await eventually("nobody else is let in", async () => {
      await fetch(`${node.url}/healthz`).then(
        () => Promise.reject(new Error("still there")),
        () => {},
      );
      return true;
    });
    const last = await restOfIt(other);
    expect(last).toMatch(/^HTTP\/1\.1 200 /);
    expect(last).toMatch(/^connection: close\r$/im);
    // The node does not wait for idle connections that clients keep open.
    expect(await ended).toBe(0);
    expect(node.log.map(({ msg }) => msg).slice(-3)).toEqual(["ready", "stopping", "stopped"]);

    const again = await started({ data: node.data });
    const usage = await fetch(`${again.url}/api/v1/usage?period=day`, {
      headers: { authorization: `Bearer ${node.key}` },
    });
    expect(await usage.json()).toMatchObject({ rollups: [{ rule_id: "many", allowed: 2, denied: 0 }] });
  });

  it("reports that it is no longer ready, and waits for a slow client; a second signal ends it at once", async () => {
    const node = await started();
    // Half a request holds the node's grace.
    const slow = await halfARequest(new URL(node.url), node.key);
    const curious = connect(Number(new URL(node.url).port), "127.0.0.1");
    await once(curious, "connect");
    node.child.kill("SIGTERM");
    await eventually("it stops", async () => node.log.some(({ msg }) => msg === "stopping"));
    curious.write("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
    const [answer] = await once(curious, "data");
    expect(String(answer)).toMatch(/^HTTP\/1\.1 503 /);
    curious.destroy();
    // A moment later: what comes at once is the echo that npm makes.
    await new Promise((resolve) => setTimeout(resolve, 600));
    node.child.kill("SIGTERM");
    expect(await node.ended).toBe(143);
    slow.destroy();
  });
});

describe("a node that cannot start", () => {
  it("prints the reason in one line, and exits with 1", async () => {
    const port = await freePort();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(port, "127.0.0.1", resolve));
    const cases: [NodeOptions, RegExp][] = [
      [{ flags: ["--http", `127.0.0.1:${port}`] }, /^headgate: --http: 127\.0\.0\.1:\d+ is in use/],
      [{ flags: ["--grpc", `127.0.0.1:${port}`] }, /^headgate: --grpc: 127\.0\.0\.1:\d+ is in use/],
      [{ flags: ["--redis", "redis://:s3cr3t-word@:6379/nowhere"] }, /^headgate: --redis: must be a URL/],
      [{ flags: ["--http", "0.0.0.0:0"] }, /^headgate: --http: other machines can reach 0\.0\.0\.0/],
    ];
    try {
      await Promise.all(
        cases.map(async ([options, message]) => {
          const { code, line } = await refused(options);
          expect(line).toMatch(message);
          expect(line.split("\n"), line).toHaveLength(2);
          expect(line).not.toContain("s3cr3t-word");
          expect(code, line).toBe(1);
        }),
      );
    } finally {
      other.close();
    }
  });

  it("ends with 2 if a file is not there", async () => {
    const [rules, config] = await Promise.all([
      refused({ flags: ["--rules", "nowhere.yaml"] }),
      refused({ flags: ["--config", "nowhere.yaml"] }),
    ]);
    expect(rules).toEqual({ code: 2, line: "headgate: nowhere.yaml: no such file\n" });
    expect(config).toEqual({ code: 2, line: "headgate: nowhere.yaml: no such file\n" });
  });
});

const BODY = JSON.stringify({ identifier: "alice", endpoint: "/many" });

async function halfARequest({ hostname, port }: URL, key: string): Promise<Socket> {
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  const headers = `Host: x\r\nContent-Type: application/json\r\nAuthorization: Bearer ${key}\r\nContent-Length: ${BODY.length}`;
  socket.write(`POST /api/v1/check HTTP/1.1\r\n${headers}\r\n\r\n{`);
  return socket;
}

async function restOfIt(socket: Socket): Promise<string> {
  socket.write(BODY.slice(1));
  const [answer] = await once(socket, "data");
  return String(answer);
}
