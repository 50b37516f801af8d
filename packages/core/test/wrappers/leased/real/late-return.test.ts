import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "headgate-testkit/free-port";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fixedWindow, leased } from "../../../../src/index.ts";
import { RedisStore } from "../../../../src/redis.ts";
import { ask, remaining, rule } from "../../../stores/conformance/context.ts";
import { useRedis } from "../../../stores/redis/redis.ts";
import { sleep, windowWithRoom } from "./admissions.ts";

const LIMIT = 1_000;
const WINDOW_MS = 2_000;
const api = rule("api", fixedWindow({ limit: LIMIT, windowMs: WINDOW_MS }));

const redis = useRedis();
/** A connection to Redis that can delay requests: they arrive in the end, even if their sender has gone. */
let held: (() => void)[] | undefined;
let listener: Server;
let port: number;
beforeEach(async () => {
  held = undefined;
  listener = createServer((client) => join(client, connect(redis.server.port, "127.0.0.1")));
  port = await freePort();
  await new Promise<void>((resolve) => listener.listen(port, "127.0.0.1", resolve));
});
afterEach(() => {
  listener.close();
});

function join(client: Socket, server: Socket): void {
  const pass = (act: () => void): void => {
    if (held === undefined) act();
    else held.push(act);
  };
  client.on("data", (request) => pass(() => server.write(request)));
  client.on("close", () => pass(() => server.end()));
  server.on("data", (reply) => client.write(reply));
  server.on("close", () => client.destroy());
  for (const socket of [client, server]) socket.on("error", () => {});
}

function release(): void {
  const acts = held ?? [];
  held = undefined;
  for (const act of acts) act();
}

it("what is given back arrives in the next window, and is void there", async () => {
  const patience = { timeoutMs: 30_000, prefix: redis.newPrefix() };
  const node = leased(new RedisStore(`redis://127.0.0.1:${port}`, patience), { promoteAfter: 1, base: 300 });
  const other = redis.store(patience);
  const window = await windowWithRoom(WINDOW_MS, 1_500);
  for (let i = 0; i < 10; i += 1) await ask(node, "take", api, "k");
  expect(await remaining(other, api, "k")).toBe(LIMIT - 301);
  held = [];
  const closed = node.close();
  await sleep((window + 1) * WINDOW_MS - Date.now() + 50);
  expect((await ask(other, "take", api, "k", 500)).allowed).toBe(true);
  const { length } = held;
  release();
  expect(length).toBeGreaterThan(0);
  await sleep(100);
  expect(await remaining(other, api, "k")).toBe(LIMIT - 500);
  expect(Math.floor(Date.now() / WINDOW_MS)).toBe(window + 1);
  await closed;
});
