import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fixedWindow, type Rule } from "../../../../src/index.ts";
import { RedisStore } from "../../../../src/redis.ts";
import { ask, remaining } from "../../conformance/context.ts";
import { charged, counts, type Ended, ended, PATIENT, Traffic, take } from "./calls.ts";

describe("a Redis that refuses", () => {
  let servers: RedisServer[];
  let stores: RedisStore[];
  beforeEach(() => {
    servers = [];
    stores = [];
  });
  afterEach(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await Promise.all(servers.map((server) => server.stop()));
  });

  async function started(config: Readonly<Record<string, string>> = {}): Promise<RedisServer> {
    const server = await startRedis({ config });
    servers.push(server);
    return server;
  }

  function storeAt(server: RedisServer): RedisStore {
    // A busy machine must not turn a refusal into a timeout.
    const store = new RedisStore(server.url, { timeoutMs: 30_000 });
    stores.push(store);
    return store;
  }

  it("a replica: answers nothing, not even what it knows to be used up, and says that it is a replica", async () => {
    const master = await started();
    const full: Rule = { name: "full", limit: fixedWindow("1/d") };
    await ask(storeAt(master), "take", full, "a");
    const replica = await started({ replicaof: `127.0.0.1 ${master.port}` });
    await eventually("the replica has the counter", async () => (await replica.ask("DBSIZE")) === "1");
    for (const action of ["take", "peek", "penalize", "refund", "reset"] as const) {
      const store = storeAt(replica);
      const ends: Ended[] = [];
      for (let i = 0; i < 20; i += 1) {
        ends.push(await ended(() => ask(store, action, full, "a")));
        await delay(5);
      }
      // After each refusal the client looks for the master again; calls in between say why it does.
      expect(counts(ends)).toEqual({ HG_STORE_REFUSED: 20 });
      for (const { message } of ends) expect(message).toMatch(/address of the master.*READONLY/);
    }
    expect(await remaining(storeAt(master), full, "a")).toBe(0);
  });

  it("a replica that becomes a master: answers, and what fails later is not blamed on its past", async () => {
    const master = await started();
    const replica = await started({ replicaof: `127.0.0.1 ${master.port}` });
    const store = storeAt(replica);
    expect((await take(store, "a")).as).toBe("HG_STORE_REFUSED");
    await replica.ask("REPLICAOF", "NO", "ONE");
    await eventually("it answers", async () => (await take(store, "a")).as === "allowed");
    await replica.kill();
    await eventually("it is gone", async () => (await take(store, "a")).as === "HG_STORE_UNREACHABLE");
  });

  it("one that loads its data: refused as such, and answered as soon as it is loaded", async () => {
    const server = await started({
      "enable-debug-command": "yes",
      "key-load-delay": "500",
      "loading-process-events-interval-bytes": "1024",
    });
    const store = storeAt(server);
    await take(store, "a");
    await server.ask("DEBUG", "POPULATE", "1500");
    const reloaded = server.ask("DEBUG", "RELOAD");
    const traffic = new Traffic(store, ["a"]);
    await reloaded;
    await eventually("calls are answered", async () => (await take(store, "b")).as === "allowed", 10_000);
    const calls = await traffic.stop();
    expect(Object.keys(counts(calls)).sort()).toEqual(["HG_STORE_REFUSED", "allowed"]);
    const refused = calls.filter(({ as }) => as === "HG_STORE_REFUSED");
    for (const { message } of refused) expect(message).toMatch(/still loading.*LOADING/);
    expect(await charged(store, "a")).toBe(1 + calls.length - refused.length);
  });

  it("one that is started again and loads its data: refused as such, and answered once they are loaded", async () => {
    const server = await started({
      "enable-debug-command": "yes",
      "key-load-delay": "500",
      "loading-process-events-interval-bytes": "1024",
    });
    const store = storeAt(server);
    await take(store, "a");
    await server.ask("DEBUG", "POPULATE", "1500");
    await server.ask("SAVE");
    const restarted = server.restart();
    const ends: Ended[] = [];
    await eventually("it says that it loads", async () => {
      ends.push(await take(store, "a"));
      return ends.at(-1)?.as === "HG_STORE_REFUSED";
    });
    expect(ends.at(-1)?.message).toMatch(/still loading.*LOADING/);
    await restarted;
    await eventually("calls are answered", async () => (await take(store, "b")).as === "allowed", 10_000);
    expect(await charged(store, "a")).toBe(1);
  });

  it("one that runs an endless script of another client: refused as such, charged nothing, and answered once that is killed", async () => {
    const server = await started({ "busy-reply-threshold": "50" });
    const store = storeAt(server);
    await take(store, "a");
    const endless = server.ask("EVAL", "while true do end", "0").catch((error: unknown) => String(error));
    await eventually("it is busy", async () => (await take(store, "a")).as === "HG_STORE_REFUSED");
    const ends = await Promise.all(Array.from({ length: 10 }, () => take(store, "b")));
    expect(counts(ends)).toEqual({ HG_STORE_REFUSED: 10 });
    expect(ends[0].message).toMatch(/busy running another script.*BUSY/);
    await server.ask("SCRIPT", "KILL");
    expect(await endless).toMatch(/killed/i);
    expect((await take(store, "b")).as).toBe("allowed");
    expect(await charged(store, "b")).toBe(1);
  });

  it("one that refuses a user's scripts: refused as such, and says what to allow", async () => {
    const server = await started();
    await server.ask("ACL", "SETUSER", "limiter", "on", ">pw", "~*", "+@all", "-@scripting");
    const store = new RedisStore(`redis://limiter:pw@127.0.0.1:${server.port}`, PATIENT);
    stores.push(store);
    expect(await take(store, "a")).toMatchObject({
      as: "HG_STORE_REFUSED",
      message: expect.stringMatching(/needs EVAL, EVALSHA.*NOPERM/),
    });
  });

  it("one whose user may not touch the keys: refused as such, and says what to allow", async () => {
    const server = await started();
    await server.ask("ACL", "SETUSER", "limiter", "on", ">pw", "~other:*", "+@all");
    const store = new RedisStore(`redis://limiter:pw@127.0.0.1:${server.port}`, PATIENT);
    stores.push(store);
    expect(await take(store, "a")).toMatchObject({
      as: "HG_STORE_REFUSED",
      message: expect.stringMatching(/the store's prefix.*NOPERM/),
    });
  });
});
