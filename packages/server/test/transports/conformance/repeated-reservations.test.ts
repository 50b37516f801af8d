import { eventually } from "headgate-testkit/eventually";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { openStores } from "../../../src/checks/counter-stores.ts";
import { rule, type World, world } from "../../checks/fixtures.ts";
import { finallyDo } from "../finally-do.ts";
import { type Asked, grpcChannel, type RepeatingChannel, restChannel, type Said } from "./repeating-channels.ts";

const rules = [
  rule({ rule_id: "tokens", endpoint_pattern: "/tokens", limit: 1_000, window_seconds: 86_400 }),
  rule({ rule_id: "streams", endpoint_pattern: "/streams", limit: 1, algorithm: "concurrency", window_seconds: null }),
];

const TOKENS = { identifier: "42", endpoint: "/tokens", cost: 400 };
const STREAM = { identifier: "42", endpoint: "/streams", cost: 1 };

function asking(...checks: Asked["checks"]): Asked {
  return { checks, forMs: 60_000, maxWaitMs: 0 };
}

let server: RedisServer;
let redis: Redis;
beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** A node whose counters are in Redis. */
async function onRedis(): Promise<World> {
  const stores = await openStores({ redis: server.url, zookeeper: undefined, nodes: 1 });
  await stores.ready();
  const made = await world(rules, { stores: async () => stores });
  finallyDo(async () => {
    made.reservations.close();
    await stores.close();
  });
  return made;
}

interface Setup {
  /** The nodes whose counters they share. */
  readonly worlds: readonly World[];
  readonly first: RepeatingChannel;
  readonly second: RepeatingChannel;
}

const setups: Readonly<Record<string, () => Promise<Setup>>> = {
  async "REST in memory"() {
    const made = await world(rules);
    const channel = await restChannel(made);
    return { worlds: [made], first: channel, second: channel };
  },
  async "gRPC in memory"() {
    const made = await world(rules);
    const channel = await grpcChannel(made);
    return { worlds: [made], first: channel, second: channel };
  },
  async "REST and gRPC, two nodes on Redis"() {
    const [one, other] = [await onRedis(), await onRedis()];
    return { worlds: [one, other], first: await restChannel(one), second: await grpcChannel(other) };
  },
  async "gRPC and REST, two nodes on Redis"() {
    const [one, other] = [await onRedis(), await onRedis()];
    return { worlds: [one, other], first: await grpcChannel(one), second: await restChannel(other) };
  },
};

describe.each(Object.entries(setups))("a reservation under an idempotency key: %s", (_, setUp) => {
  let worlds: readonly World[];
  let first: RepeatingChannel;
  let second: RepeatingChannel;
  beforeEach(async () => {
    await redis.flushall();
    ({ worlds, first, second } = await setUp());
    // From the second one on, the journal is written in the step in which the quota is taken.
    for (const { reservations } of worlds) {
      const other = { identifier: "warm", dimension: "user" as const, endpoint: "/tokens", cost: 1 };
      const client = { id: "warm", name: "warm", namespace: "warm", roles: [] };
      const asked = { checks: [other], forMs: 60_000, maxWaitMs: 0 };
      const { reservation } = await reservations.reserve(asked, client);
      await reservations.release(reservation?.id ?? "", client);
    }
  });

  async function left(): Promise<number | undefined> {
    const asked = { identifier: "42", dimension: "user" as const, endpoint: "/tokens", cost: 0 };
    return (await worlds[0].service.peek(asked)).verdict?.remaining;
  }

  function idOf(said: Said): string {
    return said.word === "reserved" ? said.id : said.word;
  }

  /** A node that has not subscribed yet when a slot is released finds out when it asks again. */
  async function answered<Answer>(waiting: Promise<Answer>): Promise<Answer> {
    let isAnswered = false;
    const settled = waiting.finally(() => {
      isAnswered = true;
    });
    await eventually("it is answered", async () => {
      for (const { clock } of worlds) await clock.advance(100);
      return isAnswered;
    });
    return settled;
  }

  it("is made once, and answered alike each time", async () => {
    const asked = asking(TOKENS, STREAM);
    const made = await first.reserve("k", asked);
    expect(made).toMatchObject({ word: "reserved", remaining: [600, 0] });
    await worlds[0].clock.advance(1_500);
    for (const node of [second, first, second]) expect(await node.reserve("k", asked)).toEqual(made);
    expect(await left()).toBe(600);
    expect(await first.reserve("other", asking(STREAM))).toMatchObject({ word: "denied" });
    expect(await worlds[0].reservations.list(10)).toMatchObject([{ id: idOf(made) }]);
    await second.settle(idOf(made), 100);
    expect(await left()).toBe(900);
    expect(await first.reserve("other-slot", asking(STREAM))).toMatchObject({ word: "reserved" });
  });

  it("is made once if the requests come at the same time", async () => {
    const asked = asking(TOKENS, STREAM);
    const nodes = [first, second, first, second, first, second];
    const all = await Promise.all(nodes.map((node) => node.reserve("k", asked)));
    expect(all[0].word).toBe("reserved");
    for (const said of all) expect(said).toEqual(all[0]);
    expect(await left()).toBe(600);
    await first.release(idOf(all[0]));
    expect(await left()).toBe(1_000);
  });

  it("is a conflict if the request differs, and reserves nothing", async () => {
    const asked = asking(TOKENS);
    await first.reserve("k", asked);
    const others: Asked[] = [
      asking({ ...TOKENS, cost: 401 }),
      asking({ ...TOKENS, endpoint: "/tokens?page=2" }),
      asking(TOKENS, STREAM),
      { ...asked, forMs: 61_000 },
      { ...asked, maxWaitMs: 1 },
    ];
    for (const other of others) expect(await second.reserve("k", other)).toEqual({ word: "conflict" });
    expect(await second.reserveAsStranger("k", asked)).toEqual({ word: "conflict" });
    expect(await left()).toBe(600);
    // Keys belong to identities.
    expect(await second.reserve("k", asking({ ...TOKENS, identifier: "43" }))).toMatchObject({ word: "reserved" });
  });

  it("is a conflict if a check has used the key", async () => {
    const check = { identifier: "42", dimension: "user" as const, endpoint: "/tokens", cost: 400, idempotencyKey: "k" };
    await worlds[0].service.check(check);
    expect(await second.reserve("k", asking(TOKENS))).toEqual({ word: "conflict" });
    expect(await left()).toBe(600);
    await second.reserve("reserved", asking(TOKENS));
    const checking = async () => worlds[0].service.check({ ...check, idempotencyKey: "reserved" });
    await expect(checking()).rejects.toMatchObject({ code: "HG_IDEMPOTENCY_CONFLICT" });
  });

  it.each(["two words", "x".repeat(256)])("is invalid if the key is %j", async (key) => {
    expect(await first.reserve(key, asking(TOKENS))).toEqual({ word: "invalid" });
    expect(await left()).toBe(1_000);
  });

  it("is denied again if it was denied, though there is room by now", async () => {
    const made = await first.reserve("a", asking(TOKENS, STREAM));
    const denied = await first.reserve("k", asking(TOKENS, STREAM));
    expect(denied.word).toBe("denied");
    await first.release(idOf(made));
    expect(await second.reserve("k", asking(TOKENS, STREAM))).toEqual(denied);
    expect(await left()).toBe(1_000);
    expect(await worlds[0].reservations.list(10)).toEqual([]);
  });

  it("is answered as it was when it has ended since", async () => {
    const asked = asking(TOKENS, STREAM);
    const settled = await first.reserve("settled", asked);
    await second.settle(idOf(settled), 100);
    expect(await second.reserve("settled", asked)).toEqual(settled);
    const released = await second.reserve("released", asked);
    await first.release(idOf(released));
    expect(await first.reserve("released", asked)).toEqual(released);
    expect(await left()).toBe(900);
    expect(await worlds[0].reservations.list(10)).toEqual([]);
    expect(await second.reserve("slot", asking(STREAM))).toMatchObject({ word: "reserved" });
  });

  it("is made once, and not before there is room, if it waits and is asked for meanwhile", async () => {
    const holder = await first.reserve("holder", asking(STREAM));
    const asked = { ...asking(TOKENS, STREAM), maxWaitMs: 60_000 };
    const reserving = worlds.map(({ reservations }) => vi.spyOn(reservations, "reserve"));
    const waiting = [first.reserve("k", asked), second.reserve("k", asked), first.reserve("k", asked)];
    await eventually("all wait", async () => reserving.flatMap(({ mock }) => mock.calls).length === 3);
    expect(await left()).toBe(1_000);
    await first.release(idOf(holder));
    const [one, ...others] = await answered(Promise.all(waiting));
    expect(one.word).toBe("reserved");
    for (const said of others) expect(said).toEqual(one);
    expect(await left()).toBe(600);
  });

  it("stays for a client that has gone, so that it can ask again", async () => {
    const holder = await first.reserve("holder", asking(STREAM));
    const asked = { ...asking(TOKENS, STREAM), maxWaitMs: 60_000 };
    const reserving = vi.spyOn(worlds[0].reservations, "reserve");
    const gone = new AbortController();
    const waiting = first.reserve("k", asked, gone.signal);
    waiting.catch(() => {});
    await eventually("it waits", async () => reserving.mock.calls.length === 1);
    gone.abort();
    await expect(waiting).rejects.toThrow();
    const again = second.reserve("k", asked);
    await first.release(idOf(holder));
    expect((await answered(again)).word).toBe("reserved");
    expect(await left()).toBe(600);
  });
});

describe("in memory, a reservation under an idempotency key", () => {
  it("is denied again if its wait was unsuccessful", async () => {
    const made = await world(rules);
    const channel = await restChannel(made);
    const holder = await channel.reserve("holder", asking(STREAM));
    const asked = { ...asking(STREAM), maxWaitMs: 1_000 };
    const reserving = vi.spyOn(made.reservations, "reserve");
    const waiting = channel.reserve("k", asked);
    await eventually("it waits", async () => {
      await made.clock.advance(600);
      return reserving.mock.settledResults.length === 1 && reserving.mock.settledResults[0].type !== "incomplete";
    });
    const denied = await waiting;
    expect(denied.word).toBe("denied");
    await channel.release(holder.word === "reserved" ? holder.id : "");
    expect(await channel.reserve("k", asked)).toEqual(denied);
  });

  it("is remembered for five minutes, also after it has expired", async () => {
    const made = await world(rules);
    const channel = await grpcChannel(made);
    const asked = asking(TOKENS, STREAM);
    const answer = await channel.reserve("k", asked);
    const left = async () => {
      const check = { identifier: "42", dimension: "user" as const, endpoint: "/tokens", cost: 0 };
      return (await made.service.peek(check)).verdict?.remaining;
    };
    expect(await left()).toBe(600);
    await eventually("it has expired", async () => {
      await made.clock.advance(10_000);
      return (await left()) === 1_000;
    });
    expect(await channel.reserve("k", asked)).toEqual(answer);
    expect(await left()).toBe(1_000);
    await made.clock.advance(300_000);
    expect(await channel.reserve("k", asked)).not.toEqual(answer);
    expect(await left()).toBe(600);
  });
});
