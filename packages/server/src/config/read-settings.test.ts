import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HeadgateError } from "headgate";
import { afterAll, describe, expect, it } from "vitest";
import { readSettings, type SettingSources } from "./read-settings.ts";

const folder = mkdtempSync(join(tmpdir(), "headgate-settings-"));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
function file(text: string): string {
  files += 1;
  const path = join(folder, `${files}.yaml`);
  writeFileSync(path, text);
  return path;
}

function read(flags: SettingSources["flags"] = {}, env: SettingSources["env"] = {}) {
  return readSettings({ flags, env });
}

async function shownAs(name: string, ...sources: Parameters<typeof read>) {
  return (await read(...sources)).shown.find((setting) => setting.name === name);
}

describe("settings", () => {
  it("are on this machine only, in memory and a folder here, unless stated", async () => {
    const { settings, shown } = await read();
    expect(settings).toMatchObject({
      http: { host: "127.0.0.1", port: 8080 },
      grpc: { host: "127.0.0.1", port: 8081 },
      grpcMaxConnections: 1_000,
      grpcMaxStreams: 500,
      grpcMessageTimeoutMs: 10_000,
      resp: undefined,
      respMaxConnections: 10_000,
      respConsistency: "strict",
      respOnError: "local",
      envoy: undefined,
      envoyHttp: undefined,
      envoyConfig: undefined,
      envoyTimeoutMs: 15,
      envoyHeaders: "ietf",
      envoyAnonymous: false,
      envoyAnonymousRefunds: false,
      data: "./headgate-data",
      redis: undefined,
      postgres: undefined,
      zookeeper: undefined,
      rules: undefined,
      adminKey: undefined,
      tls: undefined,
      insecure: false,
      logLevel: "info",
      wrongKeysPerMinute: 20,
      logFormat: "auto",
      logFile: undefined,
      record: undefined,
      recordOneIn: 100,
      recordMaxMb: 100,
      recordSecret: undefined,
      skewBoundMs: 5000,
      nodes: 1,
      workers: 1,
      storeTimeoutMs: 250,
      cachedRead: false,
      leaseBase: undefined,
      leasePrefetchAt: 0.2,
      leaseGiveBackEveryMs: 15_000,
      configReadsLimit: "1000/m",
      configWritesLimit: "100/m",
      checksLimit: "100000/s",
      auditThrottledEveryMs: 3_600_000,
      auditRetentionMs: 90 * 86_400_000,
    });
    expect(new Set(shown.map(({ from }) => from))).toEqual(new Set(["default"]));
  });

  it("come from a flag before the environment, and from that before the file", async () => {
    const config = file("http: 127.0.0.1:1\ngrpc: 127.0.0.1:2\nnodes: 3\n");
    const env = { HEADGATE_HTTP: "127.0.0.1:11", HEADGATE_GRPC: "127.0.0.1:12" };
    const { settings, shown } = await read({ config, http: "127.0.0.1:21" }, env);
    expect([settings.http.port, settings.grpc?.port, settings.nodes]).toEqual([21, 12, 3]);
    const from = Object.fromEntries(shown.map((setting) => [setting.name, setting.from]));
    expect(from).toMatchObject({ http: "--http", grpc: "HEADGATE_GRPC", nodes: config, data: "default" });
  });

  it("come from the file that HEADGATE_CONFIG names, unless a flag names another", async () => {
    const env = { HEADGATE_CONFIG: file("nodes: 2") };
    expect((await read({}, env)).settings.nodes).toBe(2);
    expect((await read({ config: file("nodes: 3") }, env)).settings.nodes).toBe(3);
  });

  it("are read as files write them", async () => {
    const config = file(
      [
        "http: '[::1]:80'",
        "grpc: off",
        "insecure: true",
        "skew_bound: 0.5",
        "store_timeout: 100",
        "tls_cert: a.pem",
        "tls_key: b.pem",
        "redis:",
      ].join("\n"),
    );
    expect((await read({ config })).settings).toMatchObject({
      http: { host: "::1", port: 80 },
      grpc: undefined,
      insecure: true,
      skewBoundMs: 500,
      storeTimeoutMs: 100,
      tls: { cert: "a.pem", key: "b.pem", clientCa: undefined },
      redis: undefined,
    });
  });

  it("take times and rates with their units, and show them so", async () => {
    const flags = { "audit-retention": "400d", "audit-throttled-every": "90m", "config-writes-limit": "20/s" };
    expect((await read(flags)).settings).toMatchObject({
      auditRetentionMs: 400 * 86_400_000,
      auditThrottledEveryMs: 5_400_000,
      configWritesLimit: "20/s",
    });
    expect(await shownAs("audit_throttled_every", flags)).toMatchObject({ value: "90m" });
    expect(await shownAs("audit_throttled_every")).toMatchObject({ value: "1h", from: "default" });
    for (const every of ["0", "0h"]) {
      expect((await read({ "audit-throttled-every": every })).settings.auditThrottledEveryMs).toBe(0);
    }
    expect(await shownAs("audit_throttled_every", { "audit-throttled-every": "0" })).toMatchObject({ value: "0s" });
    expect((await read({ config: file("audit_throttled_every: off") })).settings.auditThrottledEveryMs).toBe("off");
  });

  it("take a port alone for one of this machine, a switch without a value for yes, and an empty variable for none", async () => {
    const { settings } = await read({ http: "9000", insecure: true }, { HEADGATE_REDIS: "" });
    expect(settings).toMatchObject({ http: { host: "127.0.0.1", port: 9000 }, insecure: true, redis: undefined });
  });

  it("ignore the variables that Kubernetes sets for a service with the same name", async () => {
    const env = {
      HEADGATE_PORT: "tcp://10.0.0.1:8080",
      HEADGATE_SERVICE_HOST: "10.0.0.1",
      HEADGATE_SERVICE_PORT_HTTP: "8080",
      HEADGATE_PORT_8080_TCP_ADDR: "10.0.0.1",
    };
    await expect(read({}, env)).resolves.toBeDefined();
  });
});

describe("what is wrong is refused by the name that the user knows", () => {
  it.each<[string, SettingSources["flags"], SettingSources["env"], RegExp]>([
    ["an unknown variable", {}, { HEADGATE_REDDIS: "x" }, /^HEADGATE_REDDIS: is not .*did you mean HEADGATE_REDIS\?/],
    ["one that is near to nothing", {}, { HEADGATE_XYZZY_PLUGH: "x" }, /^HEADGATE_XYZZY_PLUGH: is not a setting[^?]*$/],
    ["an address without a port", { http: "localhost" }, {}, /^--http: must be an address .* got "localhost"/],
    ["a port that is none", { http: "127.0.0.1:65536" }, {}, /^--http: must be an address/],
    ["brackets around no address", { http: "[x]:80" }, {}, /^--http: must have an IPv6/],
    ["a Redis URL of another kind", { redis: "http://h" }, {}, /^--redis: must be a URL as in redis:/],
    ["no URL", {}, { HEADGATE_POSTGRES: "host=a" }, /^HEADGATE_POSTGRES: must be a URL such as postgres:/],
    ["hosts that are none", { zookeeper: "a:b" }, {}, /^--zookeeper: must be a list of hosts/],
    [
      "two homes of counters",
      { redis: "redis://h", zookeeper: "h" },
      {},
      /^--zookeeper: is mutually exclusive with --redis/,
    ],
    [
      "a configuration for no listener",
      { "envoy-config": "x" },
      {},
      /^--envoy-config: has no effect without --envoy or --envoy-http/,
    ],
    ["no path of a socket", { envoy: "unix:" }, {}, /^--envoy: must have a path, as in unix:/],
    ["a certificate alone", { "tls-cert": "x" }, {}, /^--tls-cert: needs both --tls-cert and --tls-key/],
    ["an authority alone", { "tls-client-ca": "x" }, {}, /^--tls-client-ca: needs both --tls-cert and --tls-key/],
    ["no whole number", { nodes: "0" }, {}, /^--nodes: must be a whole number/],
    ["no workers", { workers: "0" }, {}, /^--workers: must be a whole number from 1 to 256, or auto, got "0"/],
    ["too many workers", {}, { HEADGATE_WORKERS: "257" }, /^HEADGATE_WORKERS: must be a whole number from 1 to 256/],
    ["no seconds", { "skew-bound": "-1" }, {}, /^--skew-bound: must be a number of seconds/],
    ["no time", { "store-timeout": "soon" }, {}, /^--store-timeout: must be from 1ms to 1000ms, got "soon"/],
    ["no time at all", { "store-timeout": "0" }, {}, /^--store-timeout: must be from 1ms/],
    ["too long a time", {}, { HEADGATE_STORE_TIMEOUT: "2s" }, /^HEADGATE_STORE_TIMEOUT: must be from 1ms to 1000ms/],
    [
      "a time without a unit",
      { "audit-retention": "90" },
      {},
      /^--audit-retention: must be a duration from 1h to 36500d/,
    ],
    ["too short a time", { "audit-retention": "5m" }, {}, /^--audit-retention: must be a duration from 1h .* got "5m"/],
    [
      "part of a second",
      { "audit-throttled-every": "0.5s" },
      {},
      /^--audit-throttled-every: must be a duration from 0/,
    ],
    ["no rate", { "checks-limit": "100" }, {}, /^--checks-limit: must be a rate such as 1000\/m/],
    ["a rate of none", {}, { HEADGATE_CHECKS_LIMIT: "0/s" }, /^HEADGATE_CHECKS_LIMIT: must be a rate/],
    ["no level", {}, { HEADGATE_LOG_LEVEL: "loud" }, /^HEADGATE_LOG_LEVEL: must be one of trace, debug/],
    ["no yes or no", {}, { HEADGATE_INSECURE: "maybe" }, /^HEADGATE_INSECURE: must be true or false/],
    ["an empty flag", { data: "" }, {}, /^--data: must not be empty/],
  ])("%s", async (_what, flags, env, message) => {
    await expect(read(flags, env)).rejects.toThrow(message);
  });

  it.each<[string, string, RegExp]>([
    ["an unknown name", "htpp: 127.0.0.1:80", /: htpp: is not a setting of Headgate \(did you mean http\?\)/],
    ["a wrong value", "nodes: many", /: nodes: must be a whole number, at least 1, got "many"/],
    ["a map", "http: {host: a}", /: http: must be a single value/],
    ["a list alone", "- http", /: must be a YAML mapping of settings/],
    ["no YAML", "http: [1,\n  nodes: 2", /: line \d, column \d+: /],
    ["a name twice", "nodes: 1\nnodes: 2", /: line \d, column \d: .*unique/],
  ])("%s in a file", async (_what, text, message) => {
    const config = file(text);
    await expect(read({ config })).rejects.toThrow(message);
    await expect(read({ config })).rejects.toThrow(config);
  });

  it("a file that is not there, with the cause by which the command line knows", async () => {
    const refused = await read({ config: join(folder, "none.yaml") }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(HeadgateError);
    expect(refused).toMatchObject({ message: expect.stringMatching(/no such file/), cause: { code: "ENOENT" } });
  });
});

describe("what is shown", () => {
  it("has no password and no key", async () => {
    const secret = "s3cr3t";
    const env = {
      HEADGATE_ADMIN_KEY: secret,
      HEADGATE_REDIS: `redis+sentinel://:${secret}@h:1,i/m/0?sentinel_password=${secret}`,
      HEADGATE_POSTGRES: `postgres://u:${secret}%40x@h/db?sslpassword=${secret}&a=b`,
    };
    expect(JSON.stringify((await read({}, env)).shown)).not.toContain(secret);
    expect((await shownAs("redis", {}, env))?.value).toBe("redis+sentinel://:***@h:1,i/m/0?sentinel_password=***");
    const list = { redis: `redis://:${secret}@h,redis://:${secret}@i` };
    expect((await shownAs("redis", list))?.value).toBe("redis://:***@h,redis://:***@i");
    expect((await shownAs("postgres", {}, env))?.value).toBe("postgres://u:***@h/db?sslpassword=***&a=b");
    expect(await shownAs("admin_key", {}, env)).toEqual({
      name: "admin_key",
      value: "***",
      from: "HEADGATE_ADMIN_KEY",
    });
  });

  it("reads as it is written", async () => {
    expect((await shownAs("grpc", { grpc: "[::1]:1" }))?.value).toBe("[::1]:1");
    expect((await shownAs("grpc", { grpc: "off" }))?.value).toBe("off");
    expect((await shownAs("skew_bound", { "skew-bound": "1.5" }))?.value).toBe("1.5");
    for (const time of ["50", "50ms", "0.05s"]) {
      expect((await shownAs("store_timeout", { "store-timeout": time }))?.value).toBe("50ms");
    }
    expect((await shownAs("redis"))?.value).toBeUndefined();
  });

  it("does not quote a URL that is refused: it may hold a password", async () => {
    await expect(read({ redis: "reddis://:s3cr3t@h" })).rejects.not.toThrow(/s3cr3t/);
    await expect(read({ redis: "reddis://:s3cr3t@h" })).rejects.toThrow(/^--redis/);
  });
});
