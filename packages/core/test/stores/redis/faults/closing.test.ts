import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { freePort } from "headgate-testkit/free-port";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RedisStore } from "../../../../src/redis.ts";
import { charged, PATIENT, take } from "./calls.ts";

const run = promisify(execFile);

describe("close()", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server?.stop());

  it("answers what was asked before it, and refuses what is asked after it", async () => {
    const store = new RedisStore(server.url, PATIENT);
    await take(store, "a");
    const asked = take(store, "a");
    const closed = store.close();
    expect((await asked).as).toBe("allowed");
    await closed;
    expect((await take(store, "a")).as).toBe("HG_STORE_UNREACHABLE");
    const other = new RedisStore(server.url, PATIENT);
    expect(await charged(other, "a")).toBe(2);
    await other.close();
  });

  it("may be called twice", async () => {
    const store = new RedisStore(server.url, PATIENT);
    await take(store, "b");
    await Promise.all([store.close(), store.close()]);
    await store.close();
  });

  it("leaves no connection on the server", async () => {
    const clients = async () => (await server.ask("CLIENT", "LIST", "TYPE", "normal")).split("\n").length;
    const before = await clients();
    const store = new RedisStore(server.url, PATIENT);
    await take(store, "c");
    expect(await clients()).toBe(before + 1);
    await store.close();
    expect(await clients()).toBe(before);
  });

  it("ends when the server is frozen", async () => {
    const frozen = await startRedis();
    const store = new RedisStore(frozen.url, { timeoutMs: 200 });
    await take(store, "d");
    frozen.pause();
    // The server is never resumed: waiting for its answer would never end.
    await store.close();
    await frozen.stop();
  });

  it.each<[what: string, url: () => Promise<string>, calls: number]>([
    ["used", async () => server.url, 3],
    ["never used", async () => server.url, 0],
    ["never reached a server", async () => `redis://127.0.0.1:${await freePort()}`, 3],
    ["is still connecting", async () => `redis://127.0.0.1:${await freePort()}`, 0],
  ])("leaves nothing that would keep a process alive, whether the store was one that %s", async (_, url, calls) => {
    const program = `
      import { fixedWindow } from "headgate";
      import { RedisStore } from "headgate/redis";
      const store = new RedisStore(${JSON.stringify(await url())});
      const rule = { name: "a", limit: fixedWindow("9/d") };
      for (let i = 0; i < ${calls}; i += 1) await store.apply("take", [{ rule, key: "a", cost: 1 }]).catch(() => {});
      await store.close();
      console.log("closed");`;
    const { stdout, stderr } = await run(process.execPath, ["--input-type=module", "--eval", program], {
      timeout: 60_000,
    });
    expect({ stdout, stderr }).toEqual({ stdout: "closed\n", stderr: "" });
  });
});
