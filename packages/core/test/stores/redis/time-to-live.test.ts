import * as fc from "fast-check";
import { eventually } from "headgate-testkit/eventually";
import { runs } from "headgate-testkit/repeated";
import { describe, expect, it } from "vitest";
import { type Action, limitFromSpec } from "../../../src/index.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { ask } from "../conformance/context.ts";
import { kinds } from "./kinds.ts";
import { useRedis } from "./redis.ts";

const redis = useRedis();

const requests = fc.array(
  fc.record({
    action: fc.constantFrom<Action>("take", "take", "take", "charge", "peek", "penalize", "refund", "reset"),
    cost: fc.integer({ min: 0, max: 5 }),
    /** Seconds: a limit may get a longer window, or a shorter one. */
    window: fc.constantFrom(10, 10, 10, 1, 3_600),
  }),
  { minLength: 1, maxLength: 15 },
);

/** How much longer than needed a row is kept at least, in milliseconds; keep.lua has a second, and Redis rounds. */
const MARGIN = 990;

describe.each(kinds)("the row of a key: $name", ({ spec }) => {
  const name = (prefix: string): string => `${prefix}:{k}:api:${limitFromSpec(spec(5, 1)).algorithm}`;

  it("is kept from each charge until it is blank again, and never for good", () =>
    fc.assert(
      fc.asyncProperty(requests, async (list) => {
        const prefix = redis.newPrefix();
        const store = redis.store({ prefix });
        for (const { action, cost, window } of list) {
          const rule = { name: "api", limit: limitFromSpec(spec(5, window)) };
          const { allowed } = await ask(store, action, rule, "k", cost);
          const kept = await redis.client.pttl(name(prefix));
          // Redis returns -2 for a missing key, and -1 for a key without a time to live.
          if (action === "reset") expect(kept).toBe(-2);
          expect(kept).not.toBe(-1);
          const isCharged =
            cost > 0 && (action === "penalize" || action === "charge" || (action === "take" && allowed));
          if (!isCharged) continue;
          const { resetAfter } = await ask(store, "peek", rule, "k", 0);
          expect(kept).toBeGreaterThan(resetAfter / 1000 + MARGIN);
          // Whatever was done before, it is not longer than all of it together.
          expect(kept).toBeLessThan(1000 * (60 + 3_600 * 2 * list.length));
        }
      }),
      runs(15),
    ));
});

it("rows of every kind are gone some time after they are blank", async () => {
  const prefix = redis.newPrefix();
  const store = redis.store({ prefix });
  for (const { name, spec } of kinds) await ask(store, "take", { name, limit: limitFromSpec(spec(5, 0.01)) }, "k", 5);
  expect(await redis.client.keys(`${prefix}:*`)).toHaveLength(kinds.length);
  await eventually("they are dropped", async () => (await redis.client.keys(`${prefix}:*`)).length === 0);
});

/** A test may hold its clock still for as long as it likes; Redis counts a time to live in real time. */
const STANDING_STILL_MS = 3_600_000;

describe("with its own clock", () => {
  it.each(kinds)("keeps a row while that clock does not advance: $name", async ({ spec }) => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix, clock: new ManualClock() });
    const rule = { name: "api", limit: limitFromSpec(spec(5, 0.01)) };
    const other = { name: "other", limit: limitFromSpec(spec(5, 0.01)) };
    await ask(store, "take", rule, "k");
    await store.apply("take", [
      { rule, key: "k", cost: 1 },
      { rule: other, key: "k", cost: 1 },
    ]);
    const names = await redis.client.keys(`${prefix}:*`);
    expect(names).toHaveLength(2);
    for (const name of names) expect(await redis.client.pttl(name)).toBeGreaterThan(STANDING_STILL_MS);
  });

  it("keeps the record of an idempotency key while that clock does not advance", async () => {
    const prefix = redis.newPrefix();
    const store = redis.store({ prefix, clock: new ManualClock() });
    const rule = { name: "api", limit: limitFromSpec(kinds[0].spec(5, 1)) };
    await store.apply("take", [{ rule, key: "k", cost: 1 }], { idempotencyKey: "once", rememberFor: 1_000_000 });
    expect(await redis.client.pttl(`${prefix}:{k}:once:idempotency`)).toBeGreaterThan(STANDING_STILL_MS);
  });
});
