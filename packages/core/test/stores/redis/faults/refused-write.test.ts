import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Action,
  bucketedWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  type Rule,
  StoreError,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "../../../../src/index.ts";
import { RedisStore } from "../../../../src/redis.ts";
import { ManualClock } from "../../../../src/testing/index.ts";
import { ask, operation, rule } from "../../conformance/context.ts";

const rules: readonly Rule[] = [
  rule("fixed", fixedWindow("100/h")),
  rule("window", slidingWindow("100/h")),
  rule("log", slidingWindowLog("100/h")),
  rule("bucketed", bucketedWindow("100/h", { bucketWidthMs: 1_000 })),
  rule("token", tokenBucket("100/h")),
  rule("leaky", leakyBucket("100/h")),
  rule("gcra", gcra("100/h")),
];
const other = rule("other", fixedWindow("100/h"));

let server: RedisServer;
let admin: RedisStore;
const stores: RedisStore[] = [];
/** It does not advance, so that rows can be compared. */
const clock = new ManualClock(1_700_000_000_000);

beforeAll(async () => {
  server = await startRedis();
  admin = new RedisStore(server.url, { clock, timeoutMs: 60_000 });
  stores.push(admin);
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await server?.stop();
});

/** A store whose user is not permitted to use a command. */
async function without(command: string): Promise<RedisStore> {
  await server.ask("ACL", "SETUSER", `no-${command}`, "on", ">pw", "~*", "&*", "+@all", `-${command}`);
  const store = new RedisStore(`redis://no-${command}:pw@127.0.0.1:${server.port}`, { clock, timeoutMs: 60_000 });
  stores.push(store);
  await store.ready();
  return store;
}

/** What is charged, seen by a user who may do everything. */
async function charges(of: readonly Rule[], key: string): Promise<unknown[]> {
  return Promise.all(of.map((each) => ask(admin, "peek", each, key)));
}

/** A request that is refused between others of the same tick, which are decided. */
async function refusedAlone(
  store: RedisStore,
  action: Action,
  of: readonly Rule[],
  key: string,
  idempotencyKey?: string,
): Promise<void> {
  const before = await charges(of, key);
  const operations = of.map((each) => operation(each, key, 3));
  const [first, refused, last] = await Promise.allSettled([
    store.apply("peek", [operation(other, `${key}-first`)]),
    store.apply(action, operations, idempotencyKey === undefined ? undefined : { idempotencyKey }),
    store.apply("peek", [operation(other, `${key}-last`)]),
  ]);
  expect([first.status, last.status]).toEqual(["fulfilled", "fulfilled"]);
  if (refused.status !== "rejected") throw new Error("was not refused");
  expect(refused.reason).toBeInstanceOf(StoreError);
  expect(refused.reason).toMatchObject({
    code: "HG_STORE_REFUSED",
    message: expect.stringMatching(/needs EVAL, EVALSHA/),
  });
  expect(await charges(of, key)).toEqual(before);
}

describe("a write that Redis refuses in the middle of a request", () => {
  it.each(rules)("$name is new, and the next limit may not be written: neither is charged", async (first) => {
    const key = `new-${first.name}`;
    await ask(admin, "take", other, key);
    const store = await without("setrange");
    await refusedAlone(store, "take", [first, other], key);
    await refusedAlone(store, "penalize", [first, other], key);
  });

  it.each(rules)("$name was used, and the next limit may not be written: neither is charged", async (first) => {
    const key = `used-${first.name}`;
    // So often that a ring has turned, and has to grow.
    for (let i = 0; i < 12; i += 1) await ask(admin, "take", first, key);
    const store = await without("psetex");
    await refusedAlone(store, "take", [first, other], key);
    await refusedAlone(store, "penalize", [first, other], key);
    // The row is intact: it admits what is left, and no more.
    await ask(admin, "take", first, key, 88);
    expect(await ask(admin, "take", first, key)).toMatchObject({ allowed: false, remaining: 0 });
  });

  it.each(rules)("$name and another limit may not be reset: the other requests are decided", async (first) => {
    const key = `reset-${first.name}`;
    for (const each of [first, other]) await ask(admin, "take", each, key);
    await refusedAlone(await without("del"), "reset", [first, other], key);
  });

  it.each(rules)(
    "$name, and the record of the idempotency key may not be written: nothing is charged",
    async (first) => {
      const key = `once-${first.name}`;
      for (let i = 0; i < 12; i += 1) await ask(admin, "take", first, key);
      const store = await without("psetex");
      for (const action of ["take", "takeFirst", "penalize", "refund", "reset"] as const) {
        await refusedAlone(store, action, [first], key, `${action}-key`);
      }
    },
  );

  it.each(["log", "bucketed"])("%s alone, whose time to live may not be set: it is not charged", async (name) => {
    const key = `ttl-${name}`;
    const first = rules.find((each) => each.name === name) ?? rules[0];
    await ask(admin, "take", first, key);
    // Past the time for which it is kept without being written again.
    await clock.advance(1_800_000);
    const store = await without("pexpire");
    await refusedAlone(store, "take", [first], key);
  });
});
