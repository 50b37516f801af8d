import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "headgate-testkit/eventually";
import { freePort } from "headgate-testkit/free-port";
import { startRedis } from "headgate-testkit/redis-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterEach, beforeEach, expect, it } from "vitest";
import { described, type RateLimitResponse, shouldRateLimit } from "../transports/envoy/fixtures.ts";

const CONFIG = `
domain: test
descriptors:
  - { key: a, rate_limit: { unit: day, requests_per_unit: 20 } }
  - { key: bucket, rate_limit: { unit: day, requests_per_unit: 20, algorithm: token_bucket } }
  - { key: open, rate_limit: { unit: day, requests_per_unit: 20, on_error: allow } }
  - { key: shut, rate_limit: { unit: day, requests_per_unit: 20, on_error: deny } }
`;

let folder: string;
let node: NodeProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-envoy-"));
  writeFileSync(join(folder, "test.yaml"), CONFIG);
});
afterEach(async () => {
  await node?.end();
  rmSync(folder, { recursive: true });
});

async function start(...flags: string[]): Promise<string> {
  const address = `127.0.0.1:${await freePort()}`;
  node = await startNode({ flags: ["--envoy", address, "--envoy-anonymous", "--envoy-config", folder, ...flags] });
  return address;
}

async function codes(address: string, count: number, ...descriptors: string[]): Promise<Record<string, number>> {
  const request = { domain: "test", descriptors: described(...descriptors) };
  const calls = Array.from({ length: count }, () =>
    shouldRateLimit<RateLimitResponse>(address, request, { deadlineMs: 20_000 }),
  );
  const counted: Record<string, number> = {};
  for (const { overall_code } of await Promise.all(calls)) counted[overall_code] = (counted[overall_code] ?? 0) + 1;
  return counted;
}

it("counts exactly with several workers, whichever is asked", { timeout: 60_000 }, async () => {
  const address = await start("--workers", "2");
  for (const key of ["a=1", "a=2", "a=3"]) expect(await codes(address, 30, key)).toEqual({ OK: 20, OVER_LIMIT: 10 });
  // Keys of different workers are taken together, too.
  const both = await codes(address, 30, "bucket=1", "bucket=2");
  expect(both).toEqual({ OK: 20, OVER_LIMIT: 10 });
});

it("answers by on_error in the caller's time while the store is frozen, and charges none of it", {
  timeout: 60_000,
}, async () => {
  const redis = await startRedis();
  try {
    const address = await start("--redis", redis.url, "--store-timeout", "1s");
    const ask = async (key: string, deadlineMs: number): Promise<string> => {
      const request = { domain: "test", descriptors: described(`${key}=x`) };
      return (await shouldRateLimit<RateLimitResponse>(address, request, { deadlineMs })).overall_code;
    };
    expect(await ask("open", 20_000)).toBe("OK");
    redis.pause();
    // The store may take a second, but these callers wait for less.
    expect(await Promise.all([ask("open", 800), ask("shut", 800)])).toEqual(["OK", "OVER_LIMIT"]);
    const metrics = await (await node?.request("GET", "/metrics"))?.text();
    expect(metrics).toMatch(/^headgate_caller_deadlines_total [12]$/m);
    expect(metrics).toMatch(/^headgate_store_breaker_open 0$/m);
    redis.resume();
    await eventually("the store answers again", async () => (await ask("shut", 20_000)) === "OK");
    const counted = await codes(address, 25, "open=x");
    // One was charged before; what came too late was not.
    expect(counted).toEqual({ OK: 19, OVER_LIMIT: 6 });
  } finally {
    await redis.stop();
  }
});
