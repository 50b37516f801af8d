import { existsSync } from "node:fs";
import { Redis } from "ioredis";
import { afterEach, describe, expect, it } from "vitest";
import { type RedisServer, startRedis } from "../src/redis-server.ts";

const servers: RedisServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

async function started(...settings: Parameters<typeof startRedis>): Promise<RedisServer> {
  const server = await startRedis(...settings);
  servers.push(server);
  return server;
}

describe("a Redis for a test", () => {
  it("answers at its address, and is gone with its folder after stop", async () => {
    const server = await started();
    const client = new Redis(server.url);
    expect(await client.set("a", "1")).toBe("OK");
    client.disconnect();
    const { pid, dir } = server;
    await server.stop();
    expect(isRunning(pid)).toBe(false);
    expect(existsSync(dir)).toBe(false);
  });

  it("keeps nothing over a kill and a restart, on the same port", async () => {
    const server = await started();
    const { pid, port } = server;
    await server.ask("SET", "a", "1");
    await server.kill();
    expect(isRunning(pid)).toBe(false);
    await expect(server.ask("PING")).rejects.toThrow(/refused/);
    await server.restart();
    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
    expect(await server.ask("EXISTS", "a")).toBe("0");
  });

  it("keeps its keys over a restart if configured", async () => {
    const server = await started({ config: { appendonly: "yes", appendfsync: "always" } });
    await server.ask("SET", "a", "1");
    await server.restart();
    expect(await server.ask("GET", "a")).toBe("1");
  });

  it("answers nothing while it is paused, and everything afterwards", async () => {
    const [server, other] = await Promise.all([started(), started()]);
    server.pause();
    let answered = false;
    const reply = server.ask("PING").then((text) => {
      answered = true;
      return text;
    });
    for (let i = 0; i < 5; i += 1) expect(await other.ask("PING")).toBe("PONG");
    expect(answered).toBe(false);
    server.resume();
    expect(await reply).toBe("PONG");
  });

  it("takes a password, a bound of memory and lines of configuration", async () => {
    const server = await started({
      password: 'p"w #1',
      maxmemory: "3mb",
      config: { "maxmemory-policy": "allkeys-lru" },
    });
    const client = new Redis(server.url);
    expect(await client.config("GET", "maxmemory*")).toEqual(
      expect.arrayContaining(["maxmemory", "3145728", "maxmemory-policy", "allkeys-lru"]),
    );
    client.disconnect();
    const stranger = new Redis(server.port, "127.0.0.1", { lazyConnect: true, retryStrategy: () => null });
    stranger.on("error", () => {});
    await expect(stranger.get("a")).rejects.toThrow(/NOAUTH/);
    stranger.disconnect();
  });

  it("reports the server's output when it does not start", async () => {
    await expect(startRedis({ config: { nonsense: "yes" } })).rejects.toThrow(/Bad directive/);
    const server = await started();
    await expect(startRedis({ port: server.port })).rejects.toThrow(/Address already in use/);
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
