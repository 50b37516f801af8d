import { refusal } from "headgate-testkit/refusal";
import { Cluster, Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clusterOptions, RedisStore, redisOptions } from "../../../../src/redis.ts";

describe("options that a Redis store refuses", () => {
  let client: Redis;
  beforeEach(() => {
    client = new Redis({ ...redisOptions, lazyConnect: true });
  });
  afterEach(() => {
    client.disconnect();
  });

  it.each<[what: string, options: unknown, field: string]>([
    ["an opening brace in the prefix", { prefix: "a{b" }, "prefix"],
    ["a closing brace in the prefix", { prefix: "a}b" }, "prefix"],
    ["a prefix that is no string", { prefix: 7 }, "prefix"],
    ["maxBatch 0", { maxBatch: 0 }, "maxBatch"],
    ["maxBatch -1", { maxBatch: -1 }, "maxBatch"],
    ["maxBatch 1.5", { maxBatch: 1.5 }, "maxBatch"],
    ["maxBatch 1001", { maxBatch: 1_001 }, "maxBatch"],
    ["maxBatch as text", { maxBatch: "64" }, "maxBatch"],
    ["timeoutMs NaN", { timeoutMs: Number.NaN }, "timeoutMs"],
    ["timeoutMs 0", { timeoutMs: 0 }, "timeoutMs"],
    ["timeoutMs Infinity", { timeoutMs: Number.POSITIVE_INFINITY }, "timeoutMs"],
    ["timeoutMs that a timer would take for 1", { timeoutMs: 2 ** 31 }, "timeoutMs"],
    ["timeoutMs null", { timeoutMs: null }, "timeoutMs"],
    ["a clock that tells no time", { clock: {} }, "clock"],
    ["an unknown option", { timeout: 5 }, "options.timeout"],
    ["no object", 5, "options"],
    ["null", null, "options"],
  ])("%s: HG_BAD_OPTION, and the option is named", (_, options, field) => {
    const { code, field: named, message } = refusal(() => Reflect.construct(RedisStore, [client, options]));
    expect({ code, field: named }).toEqual({ code: "HG_BAD_OPTION", field });
    expect(message).toMatch(/must be|must have|is unknown/);
  });

  it.each<[what: string, server: unknown]>([
    ["nothing", undefined],
    ["null", null],
    ["a number", 6379],
    ["an object of options", { host: "127.0.0.1" }],
    ["another client", { sendCommand: () => {} }],
    ["an empty URL", ""],
    ["a host without a scheme", "127.0.0.1:6379"],
    ["a URL of something else", "http://127.0.0.1:6379"],
    ["a URL whose port is none", "redis://127.0.0.1:66666"],
    ["a URL that is none", "redis://a b"],
  ])("%s as the server: HG_BAD_OPTION, and how it should be", (_, server) => {
    const { code, field, message } = refusal(() => Reflect.construct(RedisStore, [server]));
    expect({ code, field }).toEqual({ code: "HG_BAD_OPTION", field: "server" });
    expect(message).toMatch(/must be a URL/);
  });

  it("a cluster with a keyPrefix: rejected, with a message that names the option prefix", () => {
    const cluster = new Cluster([{ port: 1 }], { ...clusterOptions, lazyConnect: true, keyPrefix: "app:" });
    expect(refusal(() => new RedisStore(cluster))).toMatchObject({
      code: "HG_BAD_OPTION",
      field: "server",
      message: expect.stringMatching(/prefix option/),
    });
    cluster.disconnect();
  });

  it("a client that may send twice or wait without end: a warning that names the settings", async () => {
    const warned = new Promise<Error & { code?: string }>((resolve) => process.once("warning", resolve));
    const careless = new Redis({ lazyConnect: true, retryStrategy: () => null });
    careless.on("error", () => {});
    new RedisStore(careless);
    const { code, message } = await warned;
    expect(code).toBe("HG_UNSAFE_CLIENT");
    for (const setting of ["autoResendUnfulfilledCommands", "enableOfflineQueue", "docs/stores/redis.md"]) {
      expect(message).toContain(setting);
    }
    careless.disconnect();
  });
});
