import * as fc from "fast-check";
import { patience, runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { concurrency, gcra, MemoryStore, type Operation } from "../../../src/index.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { slotTraffic } from "../../algorithms/slot-traffic.ts";
import { useRedis } from "./redis.ts";

const redis = useRedis();

const trials = fc.record({
  /** Under which a request is made together with units of another limit, and for which of two keys. */
  requests: slotTraffic.chain((traffic) =>
    fc.tuple(
      ...traffic.map((request) =>
        fc.record({ request: fc.constant(request), units: fc.nat(3), key: fc.constantFrom("k", "k", "{l}") }),
      ),
    ),
  ),
  start: fc.constantFrom(0, 1, 1_700_000_000_123_457, 2 ** 51),
});

describe("slots of RedisStore against MemoryStore", patience, () => {
  it("are answered the same to the bit, and every row expires", () =>
    fc.assert(
      fc.asyncProperty(trials, async ({ requests, start }) => {
        const clock = new ManualClock();
        const memory = new MemoryStore({ clock, sweep: false });
        const prefix = redis.newPrefix();
        const store = redis.store({ clock, prefix });
        const units = { name: "units", limit: gcra("10/s") };
        let now = start;
        for (const { request, units: cost, key } of requests) {
          now = Math.max(0, now + request.advance);
          clock.set(now / 1000);
          expect(clock.now()).toBe(now);
          const { action, id, forUs } = request;
          const limit = concurrency(request.limit);
          const slots: Operation = { rule: { name: "slots", limit }, key, cost: request.cost, slot: { id, forUs } };
          const isMixed = cost > 0 && (action === "take" || action === "peek" || action === "reset");
          const operations = isMixed ? [slots, { rule: units, key, cost }] : [slots];
          expect(await store.apply(action, operations)).toStrictEqual(memory.apply(action, operations));
        }
        for (const name of await redis.client.keys(`${prefix}:*`)) {
          expect(await redis.client.pttl(name), name).toBeGreaterThan(0);
        }
      }),
      runs(300),
    ));

  // Traffic as of slot.lua alone: each reservation takes one slot, and returns it once.
  const visits = fc.array(
    fc.record({
      advance: fc.constantFrom(0, 1, 400_000, 1_100_000),
      forUs: fc.constantFrom(1_000_000, 2_000_000, 3_000_000),
      /** Returns a slot of those that are held, if there are any: the first of them, or another one. */
      returned: fc.option(fc.nat(4)),
    }),
    { minLength: 1, maxLength: 40 },
  );

  it("are answered the same if they are taken and returned one by one, in any order", () =>
    fc.assert(
      fc.asyncProperty(visits, fc.integer({ min: 1, max: 5 }), async (steps, limit) => {
        const clock = new ManualClock();
        const memory = new MemoryStore({ clock, sweep: false });
        const store = redis.store({ clock, prefix: redis.newPrefix() });
        const rule = { name: "slots", limit: concurrency(limit) };
        const held: Operation[][] = [];
        let now = 1_700_000_000_123_457;
        for (const [i, { advance, forUs, returned }] of steps.entries()) {
          now += advance;
          clock.set(now / 1000);
          const isReturned = returned !== null && held.length > 0;
          const operations = isReturned
            ? held.splice(returned % held.length, 1)[0]
            : [{ rule, key: "k", cost: 1, slot: { id: `r${i}`, forUs } }];
          const action = isReturned ? "release" : "take";
          const answers = memory.apply(action, operations);
          expect(await store.apply(action, operations)).toStrictEqual(answers);
          if (!isReturned && answers[0].allowed) held.push(operations);
        }
      }),
      runs(100),
    ));

  it("are answered the same to a reservation that holds one slot and asks for more", async () => {
    const clock = new ManualClock();
    const memory = new MemoryStore({ clock, sweep: false });
    const store = redis.store({ clock, prefix: redis.newPrefix() });
    const rule = { name: "slots", limit: concurrency(3) };
    const take = (id: string, cost: number, forUs: number): Operation[] => [
      { rule, key: "k", cost, slot: { id, forUs } },
    ];
    for (const operations of [take("a", 1, 1_000_000), take("b", 1, 2_000_000), take("c", 1, 3_000_000)]) {
      expect(await store.apply("take", operations)).toStrictEqual(memory.apply("take", operations));
    }
    // Its own slot does not become free for it: the slots of both others have to.
    const [denied] = await store.apply("take", take("a", 3, 1_000_000));
    expect(denied).toMatchObject({ allowed: false, retryAfter: 3_000_000, retryIsUpperBound: true });
    expect([denied]).toStrictEqual(memory.apply("take", take("a", 3, 1_000_000)));
  });
});
