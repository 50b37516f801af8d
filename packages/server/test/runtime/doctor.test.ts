import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "headgate-testkit/free-port";
import { startPostgres } from "headgate-testkit/postgres-server";
import { startRedis } from "headgate-testkit/redis-server";
import { startNode } from "headgate-testkit/service-process";
import { afterEach, describe, expect, it } from "vitest";
import { readSettings } from "../../src/config/read-settings.ts";
import { openDatabase } from "../../src/database/open-database.ts";
import { clockSkew } from "../../src/doctor/clock-skew.ts";
import { doctor } from "../../src/doctor/doctor.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { openFiles } from "../../src/doctor/open-files.ts";

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "headgate-doctor-"));
  endings.push(() => rmSync(path, { recursive: true }));
  return path;
}

async function examined(flags: Record<string, string | true>): Promise<ReadonlyMap<string, Finding>> {
  const { settings } = await readSettings({
    flags: { data: folder(), http: "127.0.0.1:0", grpc: "127.0.0.1:0", ...flags },
    env: {},
  });
  return new Map((await doctor(settings)).map((finding) => [finding.about, finding]));
}

async function redis(...settings: Parameters<typeof startRedis>) {
  const server = await startRedis(...settings);
  endings.push(() => server.stop());
  return server;
}

describe("the doctor", () => {
  it("finds nothing wrong with a Redis that does not evict keys", async () => {
    const server = await redis({ maxmemory: "10mb", config: { "maxmemory-policy": "noeviction" } });
    const findings = await examined({ redis: server.url });
    expect(findings.get("redis")).toMatchObject({ level: "ok", message: expect.stringMatching(/version 7/) });
    expect(findings.get("redis role")?.level).toBe("ok");
    expect(findings.get("redis eviction")).toMatchObject({ level: "ok", message: "noeviction" });
    expect(findings.get("redis clock")?.level).toBe("ok");
  });

  it("fails a Redis that evicts counters, one that is a replica, and one that cannot be reached", async () => {
    const master = await redis({ maxmemory: "10mb", config: { "maxmemory-policy": "allkeys-lru" } });
    const replica = await redis({ config: { replicaof: `127.0.0.1 ${master.port}` } });
    expect((await examined({ redis: master.url })).get("redis eviction")).toMatchObject({
      level: "fail",
      message: expect.stringMatching(/allkeys-lru: .*Set noeviction/),
    });
    expect((await examined({ redis: replica.url })).get("redis role")?.level).toBe("fail");
    const gone = (await examined({ redis: `redis://:word-that-is-secret@127.0.0.1:${await freePort()}` })).get("redis");
    expect(gone).toMatchObject({ level: "fail", message: expect.stringMatching(/ECONNREFUSED/) });
    expect(gone?.message).not.toContain("word-that-is-secret");
  });

  it("looks at PostgreSQL: whether it can be written, and its clock", async () => {
    const server = await startPostgres();
    endings.push(() => server.stop());
    const postgres = await server.database();
    const well = await examined({ postgres });
    expect(well.get("database")).toMatchObject({ level: "ok", message: "is readable and writable" });
    expect(well.get("postgres clock")?.level).toBe("ok");
    await server.ask(`alter database ${new URL(postgres).pathname.slice(1)} set default_transaction_read_only = on`);
    expect((await examined({ postgres })).get("database")?.level).toBe("fail");
  });

  it("reports rules that overlap, in the database and in a file", async () => {
    const data = folder();
    const database = await openDatabase({ data });
    await database.close();
    expect((await examined({ data })).get("rules")).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/none/),
    });
    const rules = join(data, "rules.yaml");
    const rule = (name: string, pattern: string, limit: number) =>
      `  - {name: ${name}, dimension: ip, endpoint_pattern: ${pattern}, limit: ${limit}, window_seconds: 60}\n`;
    writeFileSync(rules, `rules:\n${rule("all", "/**", 5)}${rule("one", "/one", 50)}`);
    expect((await examined({ data, rules })).get("rules")?.level).toBe("warn");
    writeFileSync(rules, `rules:\n${rule("all", "/**", 50)}`);
    expect((await examined({ data, rules })).get("rules")?.level).toBe("ok");
    const slots = "  - { name: slots, dimension: user, endpoint_pattern: /s, limit: 1, algorithm: concurrency }\n";
    writeFileSync(rules, `rules:\n${rule("all", "/**", 50)}${slots}`);
    expect((await examined({ data, rules })).get("rules")).toMatchObject({
      level: "ok",
      message: expect.stringContaining("not applied by checks, only by reservations (concurrent tasks): slots"),
    });
    writeFileSync(rules, "rules: 5");
    expect((await examined({ data, rules })).get("rules")?.level).toBe("fail");
  });

  it("reports who can connect, and fails keys without TLS and certificates that cannot be used", async () => {
    expect((await examined({})).get("listening")?.level).toBe("ok");
    expect((await examined({ http: "0.0.0.0:80" })).get("listening")?.level).toBe("fail");
    const open = await examined({ http: "0.0.0.0:80", insecure: true });
    expect([open.get("listening")?.level, open.get("proxies")?.level]).toEqual(["warn", "warn"]);
    const files = { "tls-cert": join(folder(), "none.pem"), "tls-key": "none.pem" };
    expect((await examined({ http: "0.0.0.0:80", ...files })).get("certificate")?.level).toBe("fail");
  });

  it("fails ports that are taken, and warns if it is by a node that is running", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    endings.push(() => new Promise((resolve) => other.close(resolve)));
    const { port } = other.address() as AddressInfo;
    const taken = `127.0.0.1:${port}`;
    other.on("connection", (socket) => socket.destroy());
    const free = `127.0.0.1:${await freePort()}`;
    const found = await examined({ http: free, grpc: taken });
    expect(found.get("http port")?.level).toBe("ok");
    expect(found.get("grpc port")).toMatchObject({
      level: "fail",
      message: expect.stringMatching(/^--grpc: 127\.0\.0\.1:\d+ is in use/),
    });
    expect((await examined({ http: taken, grpc: "off" })).get("http port")?.level).toBe("fail");
    expect((await examined({ http: free, grpc: free })).get("grpc port")?.level).toBe("fail");
    const node = await startNode();
    endings.push(() => node.end());
    const running = await examined({ http: new URL(node.url).host, grpc: node.grpcAddress });
    expect([running.get("http port")?.level, running.get("grpc port")?.level]).toEqual(["warn", "warn"]);
  });

  it("reports clock skew, as far as the round trip allows to measure it", () => {
    expect(clockSkew("c", 1_000_000, 999_990, 1_000_010).level).toBe("ok");
    expect(clockSkew("c", 1_000_400, 1_000_000, 1_000_000).level).toBe("ok");
    expect(clockSkew("c", 1_002_000, 1_000_000, 1_000_000)).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/2000 ms ahead of/),
    });
    expect(clockSkew("c", 998_000, 1_000_000, 1_000_000).message).toMatch(/2000 ms behind/);
    expect(clockSkew("c", 1_002_000, 1_000_000, 1_004_000).level).toBe("ok");
  });

  it("reports a low limit of open files", () => {
    const limits = (soft: string) =>
      `Limit   Soft Limit  Hard Limit  Units\nMax open files            ${soft}     9     files\n`;
    expect(openFiles(() => limits("1024"))).toMatchObject({
      level: "warn",
      message: expect.stringMatching(/only 1024/),
    });
    expect(openFiles(() => limits("4096")).level).toBe("ok");
    expect(openFiles(() => limits("unlimited")).level).toBe("ok");
  });
});
