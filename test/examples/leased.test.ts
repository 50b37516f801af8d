import { startRedis } from "headgate-testkit/redis-server";
import { startZooKeeper } from "headgate-testkit/zookeeper-server";
import { expect, it, onTestFinished } from "vitest";
import { startExample } from "./example.ts";

async function expectLimitUsedUp(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  const example = await startExample(name, env);
  onTestFinished(() => example.stop());
  expect([await example.ended, example.output]).toEqual([0, expect.any(String)]);
  const processes = [...example.output.matchAll(/^process \d+: (\d+) requests, (\d+) units, (\d+) round trips$/gm)];
  expect(processes).toHaveLength(4);
  const sum = (column: number) => processes.reduce((total, match) => total + Number(match[column]), 0);
  const [requests, units, roundTrips] = [sum(1), sum(2), sum(3)];
  expect(example.output).toContain(`together: ${units} of 100000 units`);
  expect(units).toBeLessThanOrEqual(100_000);
  expect(units).toBeGreaterThan(95_000);
  expect(roundTrips).toBeLessThan(requests / 4);
}

it("leased-redis uses up one limit from four processes, and never exceeds it", async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  await expectLimitUsedUp("leased-redis", { REDIS_URL: redis.url });
});

it("leased-zookeeper uses up one limit from four processes, and never exceeds it", async () => {
  const zookeeper = await startZooKeeper();
  onTestFinished(() => zookeeper.stop());
  await expectLimitUsedUp("leased-zookeeper", { ZOOKEEPER: zookeeper.address });
});
