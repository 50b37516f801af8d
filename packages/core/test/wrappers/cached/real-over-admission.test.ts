import { ForkedProcess } from "headgate-testkit/forked-process";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { CachedStats } from "../../../src/wrappers/cached/cached-stats.ts";
import { byWindow, overAdmissionBound, unitsOf } from "./over-admission.ts";

const NODES = 4;
const settings = { limit: 1_000, windowMs: 1_000, flushMs: 20, perMs: 1, forMs: 4_000 };

interface Told {
  /** When each was admitted, by the store's clock. */
  readonly letIn: readonly number[];
  /** For each write, when the first request in it was admitted, and how long after that Redis answered. */
  readonly lags: readonly { readonly since: number; readonly ms: number }[];
  readonly stats: CachedStats;
}

let server: RedisServer;
const processes: ForkedProcess[] = [];
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const process of processes) process.kill();
  await server?.stop();
});

async function start(): Promise<ForkedProcess> {
  const orders = JSON.stringify({ url: server.url, ...settings });
  const node = new ForkedProcess(new URL("node.mjs", import.meta.url), [orders]);
  processes.push(node);
  await node.next();
  return node;
}

function isIn(window: number): (lag: { readonly since: number }) => boolean {
  return ({ since }) => Math.floor(since / settings.windowMs) === window;
}

it("four processes over one Redis exceed the limit, by at most what the formula says", async () => {
  const nodes = await Promise.all(Array.from({ length: NODES }, start));
  const told = nodes.map((node) => node.next<Told>());
  for (const node of nodes) node.send("go");
  const all = await Promise.all(told);

  const letIn = all.flatMap((told, node) => told.letIn.map((at) => ({ node, at, units: 1 })));
  const windows = [...byWindow(letIn, settings.windowMs)].map(([window, letIn]) => {
    // Flush and round trip as they really were: a busy machine fires timers late.
    const lagsMs = all.map(({ lags }) => Math.max(0, ...lags.filter(isIn(window)).map(({ ms }) => ms)));
    return { excess: unitsOf(letIn) - settings.limit, bound: overAdmissionBound(letIn, settings.limit, lagsMs) };
  });
  for (const { excess, bound } of windows) expect(excess).toBeLessThanOrEqual(bound);
  const over = windows.filter(({ excess }) => excess > 0);
  expect(over.length).toBeGreaterThan(2);
  // Most of what came was denied, and hardly any of that by asking Redis.
  for (const { stats } of all) expect(stats.denied).toBeGreaterThan(10 * stats.flushes);
});
