import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { credentials, Metadata, status } from "@grpc/grpc-js";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { type NodeProcess, startNode } from "headgate-testkit/service-process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { RateLimiterClient } from "../transports/grpc/generated/headgate/v1/rate_limiter.ts";

const RULES = `
rules:
  - { rule_id: tokens, name: Tokens, dimension: user, endpoint_pattern: /tokens, limit: 1000, window_seconds: 86400, algorithm: fixed_window, on_error: deny }
  - { rule_id: streams, name: Streams, dimension: user, endpoint_pattern: /streams, limit: 1, algorithm: concurrency, on_error: deny }
`;

let redis: RedisServer;
let folder: string;
const nodes: NodeProcess[] = [];

beforeAll(async () => {
  redis = await startRedis();
  folder = mkdtempSync(join(tmpdir(), "headgate-reservations-"));
  const file = join(folder, "rules.yaml");
  writeFileSync(file, RULES);
  for (let i = 0; i < 2; i += 1) {
    nodes.push(await startNode({ flags: ["--redis", redis.url, "--rules", file, "--store-timeout", "1s"] }));
  }
});
afterAll(async () => {
  for (const node of nodes) await node.end();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function ask(node: NodeProcess, method: string, path: string, body?: object, key = node.key) {
  const response = await node.request(method, `/api/v1/${path}`, body, { authorization: `Bearer ${key}` });
  const text = await response.text();
  return { status: response.status, body: text === "" ? {} : JSON.parse(text) };
}

async function reserve(
  node: NodeProcess,
  user: string,
  cost: number,
  for_ms = 60_000,
  key = node.key,
): Promise<string> {
  const checks = [{ identifier: user, endpoint: "/tokens", cost }];
  const made = await ask(node, "POST", "reservations", { checks, for_ms }, key);
  expect(made.status).toBe(201);
  return made.body.reservation_id;
}

async function left(node: NodeProcess, user: string): Promise<number> {
  return (await ask(node, "POST", "check", { identifier: user, endpoint: "/tokens", cost: 0 })).body.remaining;
}

it("is settled, extended and released by another node than the one that made it", async () => {
  const [first, second] = nodes;
  const settled = await reserve(first, "a", 400);
  expect(await left(second, "a")).toBe(600);
  expect(await ask(second, "PATCH", `reservations/${settled}`, { for_ms: 120_000 })).toMatchObject({ status: 200 });
  expect(await ask(second, "POST", `reservations/${settled}/settle`, { costs: { tokens: 150 } })).toMatchObject({
    status: 200,
  });
  expect(await ask(first, "POST", `reservations/${settled}/settle`, { costs: { tokens: 150 } })).toMatchObject({
    status: 200,
  });
  expect(await ask(first, "POST", `reservations/${settled}/settle`, { costs: { tokens: 1 } })).toMatchObject({
    status: 409,
  });
  expect(await left(first, "a")).toBe(850);
  const released = await reserve(first, "a", 400);
  expect((await ask(second, "DELETE", `reservations/${released}`)).status).toBe(204);
  expect(await left(first, "a")).toBe(850);
});

it("belongs to a namespace on every node and transport: other keys do not find it", async () => {
  const [first, second] = nodes;
  const keyFor = async (node: NodeProcess, namespace: string): Promise<string> => {
    const made = await ask(node, "POST", "keys", { name: namespace, roles: ["check"], namespace });
    return made.body.key;
  };
  const id = await reserve(first, "d", 400, 60_000, await keyFor(first, "shop"));
  const client = new RateLimiterClient(second.grpcAddress, credentials.createInsecure());
  const settle = (key: string) => {
    const metadata = new Metadata();
    metadata.set("authorization", `Bearer ${key}`);
    return new Promise<number | undefined>((resolve) => {
      client.settle({ reservationId: id, costs: { tokens: 150 } }, metadata, (error) => resolve(error?.code));
    });
  };
  try {
    expect(await settle(await keyFor(second, "stranger"))).toBe(status.NOT_FOUND);
    expect(await left(second, "d")).toBe(600);
    expect(await settle(await keyFor(second, "shop"))).toBe(undefined);
    expect(await left(first, "d")).toBe(850);
  } finally {
    client.close();
  }
});

it("has a slot until another node releases it, or it expires", async () => {
  const [first, second] = nodes;
  const take = (node: NodeProcess, for_ms: number) =>
    ask(node, "POST", "reservations", { checks: [{ identifier: "s", endpoint: "/streams" }], for_ms });
  const made = await take(first, 60_000);
  expect(made).toMatchObject({ status: 201, body: { reserved: [{ rule_id: "streams", cost: 1, slots: true }] } });
  expect((await take(second, 60_000)).status).toBe(429);
  expect((await ask(second, "DELETE", `reservations/${made.body.reservation_id}`)).status).toBe(204);
  const short = await take(second, 1_000);
  expect(short.status).toBe(201);
  expect((await ask(first, "PATCH", `reservations/${short.body.reservation_id}`, { for_ms: 2_000 })).status).toBe(200);
  expect((await take(first, 1_000)).status).toBe(429);
  await eventually("the slot is free", async () => (await take(first, 1_000)).status === 201);
  expect(await ask(second, "POST", "check", { identifier: "s", endpoint: "/streams" })).toMatchObject({
    status: 200,
    body: { allowed: true, not_applied: ["streams"] },
  });
});

it("outlives the node that made it: another settles it, and returns one that expires", async () => {
  const [first, second] = nodes;
  const kept = await reserve(first, "b", 300);
  const lost = await reserve(first, "c", 300, 1_000);
  await first.kill();
  expect(await ask(second, "POST", `reservations/${kept}/settle`, { costs: { tokens: 100 } })).toMatchObject({
    status: 200,
  });
  expect(await left(second, "b")).toBe(900);
  await eventually("the quota is back", async () => (await left(second, "c")) === 1_000);
  const metrics = async (): Promise<string> => (await second.request("GET", "/metrics")).text();
  await eventually("it is counted", async () => /^headgate_reservations_cleaned_up_total [1-9]/m.test(await metrics()));
  await reserve(second, "e", 77);
  const take = { checks: [{ identifier: "e", endpoint: "/streams" }], for_ms: 60_000 };
  expect((await ask(second, "POST", "reservations", take)).status).toBe(201);
  await eventually("they are counted", async () => {
    const text = await metrics();
    const isReserved = /^headgate_reserved_units\{rule="tokens"\} 77$/m.test(text);
    return isReserved && /^headgate_slots_in_use\{rule="streams"\} [1-9]/m.test(text);
  });
  expect(await metrics()).toMatch(/^headgate_oldest_reservation_seconds \d/m);
  expect([404, 409]).toContain((await ask(second, "POST", `reservations/${lost}/settle`, { costs: {} })).status);
  expect(await left(second, "c")).toBe(1_000);
});
