import { createServer, type Server, type Socket } from "node:net";
import { freePort } from "headgate-testkit/free-port";
import { Cluster, Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { clusterOptions, RedisStore, redisOptions } from "../../../../src/redis.ts";
import { counts, type Ended, take } from "./calls.ts";

describe("a server that cannot be reached", () => {
  let close: (() => unknown)[];
  beforeEach(() => {
    close = [];
  });
  afterEach(async () => {
    await Promise.all(close.map((end) => end()));
  });

  function storeAt(url: string, timeoutMs?: number): RedisStore {
    const store = new RedisStore(url, timeoutMs === undefined ? {} : { timeoutMs });
    close.push(() => store.close());
    return store;
  }

  /** A server that handles connections with the given function. */
  async function listening(onConnection: (socket: Socket) => void): Promise<string> {
    const server: Server = createServer((socket) => {
      close.push(() => socket.destroy());
      socket.on("error", () => {});
      onConnection(socket);
    });
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    close.push(() => new Promise((resolve) => server.close(resolve)));
    return `redis://127.0.0.1:${port}`;
  }

  async function several(store: RedisStore): Promise<Ended[]> {
    const ends: Ended[] = [];
    for (let i = 0; i < 5; i += 1) ends.push(await take(store, "a"));
    return ends;
  }

  it("no server listens there: unreachable at once, with the system's error", async () => {
    const ends = await several(storeAt(`redis://127.0.0.1:${await freePort()}`));
    expect(counts(ends)).toEqual({ HG_STORE_UNREACHABLE: 5 });
    for (const { message } of ends) expect(message).toMatch(/no connection to Redis.*ECONNREFUSED/);
    for (const { took } of ends) expect(took).toBeLessThan(500);
  });

  it("the host has no address: unreachable, with a message that says so", async () => {
    const ends = await several(storeAt("redis://no-such-host.invalid:6379"));
    expect(ends[0].as).not.toBe("allowed");
    expect(ends.at(-1)).toMatchObject({
      message: expect.stringMatching(/ENOTFOUND|EAI_AGAIN|does not answer|did not answer/),
    });
  });

  it("it takes connections and never answers: each call ends as a timeout by timeoutMs, from the first one on", async () => {
    const store = storeAt(await listening(() => {}), 150);
    const ends = await several(store);
    expect(ends[0].as).toBe("HG_STORE_TIMEOUT");
    for (const { as, took } of ends) {
      expect(as).toBe("HG_STORE_TIMEOUT");
      expect(took).toBeLessThan(150 + 250);
    }
  });

  it("it closes each connection: unreachable", async () => {
    const ends = await several(storeAt(await listening((socket) => socket.destroy())));
    expect(counts(ends)).toEqual({ HG_STORE_UNREACHABLE: 5 });
  });

  it("it is not Redis: a StoreError for each call", async () => {
    const http = await listening((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    for (const { as } of await several(storeAt(http))) expect(as).toMatch(/^HG_STORE_/);
  });

  it.each(["+OK\r\n", ":5\r\n", "*0\r\n", "$-1\r\n", "$0\r\n\r\n"])(
    "it answers every command with %j: the store refused, and no other error anywhere",
    async (reply) => {
      const url = await listening((socket) =>
        socket.on("data", (commands) => socket.write(reply.repeat(String(commands).match(/^\*\d+\r$/gm)?.length ?? 0))),
      );
      const ends = await several(storeAt(url));
      expect(counts(ends)).toEqual({ HG_STORE_REFUSED: 5 });
      expect(ends[0].message).toMatch(/sent an unexpected reply/);
    },
  );

  it("the caller's own client without an error listener: unreachable, and nothing is printed or thrown", async () => {
    const client = new Redis({ port: await freePort(), ...redisOptions });
    close.push(() => client.disconnect());
    const ends = await several(new RedisStore(client));
    expect(counts(ends)).toEqual({ HG_STORE_UNREACHABLE: 5 });
  });

  it("a client that is closed already: unreachable", async () => {
    const client = new Redis({ port: await freePort(), ...redisOptions, lazyConnect: true });
    client.disconnect();
    expect(counts(await several(new RedisStore(client)))).toEqual({ HG_STORE_UNREACHABLE: 5 });
  });

  it("a cluster of which no node is running: unreachable, with the system's error", async () => {
    const client = new Cluster([{ host: "127.0.0.1", port: await freePort() }], clusterOptions);
    close.push(() => client.disconnect());
    const ends = await several(new RedisStore(client));
    expect(counts(ends)).toEqual({ HG_STORE_UNREACHABLE: 5 });
  });
});
