import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fixedWindow } from "../../../src/algorithms/registry.ts";
import { redisOptions } from "../../../src/redis.ts";
import { type Split, split } from "../../../src/wrappers/split/split.ts";
import { sums } from "./world.ts";

const twelve = fixedWindow("12/h");
/** Longer than every lease, and than clients wait before they reconnect. */
const AWAY_MS = 2_500;

let server: RedisServer;
let clients: Redis[];
let replicas: { readonly store: Split }[];

beforeEach(async () => {
  server = await startRedis();
  clients = Array.from({ length: 3 }, () => new Redis(server.url, redisOptions));
  for (const client of clients) client.on("error", () => {});
  await eventually("all are connected", async () => clients.every(({ status }) => status === "ready"));
  replicas = clients.map((client) => ({ store: split(client, { group: "web" }) }));
  await Promise.all(replicas.map(({ store }) => store.ready()));
  await eventually("all is shared out", allShared);
});

afterEach(async () => {
  server.resume();
  await Promise.all(replicas.map(({ store }) => store.close()));
  for (const client of clients) client.disconnect();
  await server.stop();
});

async function allShared(): Promise<boolean> {
  const [sum] = sums(replicas, [twelve]);
  expect(sum).toBeLessThanOrEqual(12);
  return sum === 12;
}

it("a Redis that was frozen gives every replica its share back at once", async () => {
  const ranks = replicas.map(({ store }) => store.stats.rank);
  server.pause();
  await delay(AWAY_MS);
  expect(sums(replicas, [twelve])).toEqual([0]);
  server.resume();
  await eventually("all is shared out again", allShared);
  expect(replicas.map(({ store }) => store.stats.rank)).toEqual(ranks);
});

it("a Redis that was restarted empty grants shares again after a lease", async () => {
  await server.kill();
  await delay(AWAY_MS);
  expect(sums(replicas, [twelve])).toEqual([0]);
  await server.restart();
  await eventually("all is shared out again", allShared);
});
