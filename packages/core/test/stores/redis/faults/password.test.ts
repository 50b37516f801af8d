import { inspect } from "node:util";
import { freePort } from "headgate-testkit/free-port";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Cluster, Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { HeadgateError, StoreError } from "../../../../src/index.ts";
import { clusterOptions, RedisStore, redisOptions } from "../../../../src/redis.ts";
import { operation } from "../../conformance/context.ts";
import { counted, PATIENT } from "./calls.ts";

const SECRET = "pl4nted-s3cret";

describe("passwords", () => {
  let server: RedisServer;
  let close: (() => unknown)[];
  beforeAll(async () => {
    close = [];
    server = await startRedis({ password: "the-right-one" });
  });
  afterEach(async () => {
    for (const end of close.splice(0)) await end();
  });
  afterAll(() => server?.stop());

  function storeAt(url: string): RedisStore {
    const store = new RedisStore(url, PATIENT);
    close.push(() => store.close());
    return store;
  }

  /** The errors of a few calls in a row: the first waits for the connection, later ones do not. */
  async function failures(store: RedisStore): Promise<StoreError[]> {
    const errors: StoreError[] = [];
    for (let i = 0; i < 5; i += 1) {
      const error: unknown = await store
        .apply("take", [operation(counted, "a")])
        .then(String, (error: unknown) => error);
      if (!(error instanceof StoreError)) throw new Error(`no StoreError: ${String(error)}`);
      errors.push(error);
    }
    return errors;
  }

  function expectNoSecret(error: Error): void {
    const all = [
      inspect(error, { depth: 20, showHidden: true }),
      JSON.stringify(error),
      error.stack,
      String(error.cause),
    ];
    expect(all.join("\n")).not.toContain(SECRET);
  }

  it("a wrong one: rejected with a message that does not contain it", async () => {
    for (const error of await failures(storeAt(`redis://:${SECRET}@127.0.0.1:${server.port}`))) {
      expect(error).toMatchObject({
        code: "HG_STORE_REFUSED",
        message: expect.stringMatching(/password.*wrong.*WRONGPASS/),
      });
      expectNoSecret(error);
    }
  });

  it("a wrong user: rejected with a message that does not contain the password", async () => {
    for (const error of await failures(storeAt(`redis://nobody:${SECRET}@127.0.0.1:${server.port}`))) {
      expect(error).toMatchObject({
        code: "HG_STORE_REFUSED",
        message: expect.stringMatching(/user name.*WRONGPASS/),
      });
      expectNoSecret(error);
    }
  });

  it("none where one is required: rejected, and says where to set it", async () => {
    for (const error of await failures(storeAt(`redis://127.0.0.1:${server.port}`))) {
      expect(error).toMatchObject({ code: "HG_STORE_REFUSED", message: expect.stringMatching(/in the URL.*NOAUTH/) });
    }
  });

  it("the right one: answered", async () => {
    await expect(storeAt(server.url).apply("take", [operation(counted, "a")])).resolves.toHaveLength(1);
  });

  it("one for a server that cannot be reached: not in the message", async () => {
    for (const error of await failures(storeAt(`redis://:${SECRET}@127.0.0.1:${await freePort()}`))) {
      expect(error.code).toBe("HG_STORE_UNREACHABLE");
      expectNoSecret(error);
    }
  });

  it.each([
    ["no scheme", `:${SECRET}@127.0.0.1`],
    ["another scheme", `http://:${SECRET}@127.0.0.1`],
    ["a port that is no number", `redis://:${SECRET}@127.0.0.1:port`],
    ["a port that is none", `redis://:${SECRET}@127.0.0.1:99999`],
    ["a host that is none", `redis://:${SECRET}@[::1`],
  ])("one in a URL with %s: not in the error", (_, url) => {
    let error: unknown;
    try {
      storeAt(url);
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof HeadgateError)) throw new Error("was not refused");
    expect(error).toMatchObject({ code: "HG_BAD_OPTION", field: "server" });
    expectNoSecret(error);
  });

  it("a wrong one in the caller's own client: rejected, and not in the message", async () => {
    const client = new Redis({ port: server.port, password: SECRET, ...redisOptions });
    close.push(() => client.disconnect());
    for (const error of await failures(new RedisStore(client))) {
      expect(error.code).toBe("HG_STORE_REFUSED");
      expectNoSecret(error);
    }
  });

  it("a wrong one for a cluster: rejected, and not in the message", async () => {
    const client = new Cluster([{ host: "127.0.0.1", port: server.port }], {
      ...clusterOptions,
      redisOptions: { ...clusterOptions.redisOptions, password: SECRET },
    });
    close.push(() => client.disconnect());
    for (const error of await failures(new RedisStore(client))) {
      expect(error).toMatchObject({ code: "HG_STORE_REFUSED", message: expect.stringMatching(/WRONGPASS/) });
      expectNoSecret(error);
    }
  });
});
