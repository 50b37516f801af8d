import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fixedWindow, gcra, type Rule, type Store, slidingWindowLog } from "../../../../src/index.ts";
import { RedisStore } from "../../../../src/redis.ts";
import { ask, operation, remaining, rule } from "../../conformance/context.ts";
import { ended, PATIENT } from "./calls.ts";

/** One whose row is short, one whose row grows, and one that other code reads. */
const rules = [
  rule("window", fixedWindow("100/h")),
  rule("log", slidingWindowLog("100/h")),
  rule("gcra", gcra("100/h")),
];

/** Values that another program may have written where the store keeps a row. */
const foreign: readonly (readonly [what: string, (server: RedisServer, key: string) => Promise<unknown>])[] = [
  ["a list", (server, key) => server.ask("RPUSH", key, "a", "b")],
  ["a hash", (server, key) => server.ask("HSET", key, "a", "b")],
  ["a short string", (server, key) => server.ask("SET", key, "hello")],
  ["a long string", (server, key) => server.ask("SET", key, "x".repeat(1_001))],
  ["a very long string", (server, key) => server.ask("SET", key, "x".repeat(10_001))],
];

describe("a key with a value that Headgate did not write", () => {
  let server: RedisServer;
  let store: RedisStore;
  beforeAll(async () => {
    server = await startRedis();
    store = new RedisStore(server.url, PATIENT);
  });
  afterAll(async () => {
    await store?.close();
    await server?.stop();
  });

  /** Charges it once, finds the key that this created, and replaces its value. */
  async function spoiled(rule: Rule, key: string, put: (server: RedisServer, key: string) => Promise<unknown>) {
    await ask(store, "take", rule, key);
    const [name] = (await server.ask("KEYS", `*{${key}}*`)).split("\n");
    await server.ask("DEL", name);
    await put(server, name);
    return name;
  }

  function take(at: Store, rule: Rule, key: string) {
    return ended(() => ask(at, "take", rule, key));
  }

  for (const rule of rules) {
    it.each(foreign)(`%s at the row of a ${rule.name}: only that request of a tick is refused`, async (what, put) => {
      const key = `${what} in ${rule.name}`.replaceAll(" ", "-");
      const name = await spoiled(rule, key, put);
      const before = await server.ask("DUMP", name);
      const ends = await Promise.all([
        take(store, rule, `${key}-one`),
        take(store, rule, key),
        take(store, rule, `${key}-two`),
        ended(() => ask(store, "penalize", rule, key)),
        ended(() => ask(store, "peek", rule, key)),
        take(store, rule, `${key}-three`),
      ]);
      const refused = { as: "HG_STORE_REFUSED", message: expect.stringMatching(/another prefix.*WRONGTYPE/) };
      const allowed = { as: "allowed" };
      expect(ends).toMatchObject([allowed, refused, allowed, refused, refused, allowed]);
      for (const other of ["one", "two", "three"]) expect(await remaining(store, rule, `${key}-${other}`)).toBe(99);
      expect(await server.ask("DUMP", name)).toBe(before);
    });
  }

  it("at one of two limits of a request: neither is charged", async () => {
    const [window, log] = rules;
    await spoiled(log, "both", (server, key) => server.ask("RPUSH", key, "a"));
    const operations = [operation(window, "both"), operation(log, "both")];
    await expect(store.apply("take", operations)).rejects.toMatchObject({ code: "HG_STORE_REFUSED" });
    expect(await remaining(store, window, "both")).toBe(100);
  });

  it.each(foreign)(
    "%s at the record of an idempotency key: only that request of a tick is refused",
    async (what, put) => {
      const key = `record-${what.replaceAll(" ", "-")}`;
      const once = (who: string) =>
        ended(async () => (await store.apply("take", [operation(rules[0], who)], { idempotencyKey: "k" }))[0]);
      await once(key);
      const [name] = (await server.ask("KEYS", `*{${key}}*idempotency`)).split("\n");
      await server.ask("DEL", name);
      await put(server, name);
      const ends = await Promise.all([once(`${key}-one`), once(key), once(`${key}-two`)]);
      expect(ends).toMatchObject([
        { as: "allowed" },
        { as: "HG_STORE_REFUSED", message: expect.stringMatching(/WRONGTYPE/) },
        { as: "allowed" },
      ]);
      expect(await remaining(store, rules[0], key)).toBe(99);
      for (const other of ["one", "two"]) expect(await remaining(store, rules[0], `${key}-${other}`)).toBe(99);
    },
  );
});
