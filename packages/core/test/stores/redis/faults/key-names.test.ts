import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fixedWindow, gcra } from "../../../../src/index.ts";
import { slotOf } from "../../../../src/stores/redis/cluster-slots.ts";
import { tagOf } from "../../../../src/stores/redis/key-names.ts";
import { Planner } from "../../../../src/stores/redis/script-request.ts";

/** Strings close to each other, made of what the names of keys are written with. */
const tricky = fc.oneof(
  fc.string({
    unit: fc.constantFrom("{", "}", "%", "#", ":", "u", "2", "5", "7", "B", "D", "\ud800", "\udc00"),
    maxLength: 6,
  }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.nat(3).map((length) => "a".repeat(127 + length)),
  fc.constantFrom("\ud800", "\ud801", "\ufffd").map((last) => "a".repeat(130) + last),
  fc.constantFrom("", "%", "%25", "%7B", "{", "%uD800", "\ud800", "\ufffd", "😀", "idempotency", "\0"),
);

const planner = new Planner("rl");

function keysOf(identity: string, ruleName: string, idempotencyKey?: string): readonly string[] {
  const rule = { name: ruleName, limit: fixedWindow("9/s") };
  const nothing = (): void => {};
  const options = idempotencyKey === undefined ? undefined : { idempotencyKey };
  return planner.request("take", [{ rule, key: identity, cost: 1 }], options, nothing, nothing).keys;
}

/** As they arrive: UTF-8 makes all halves of surrogate pairs the same. */
function sent(key: string): string {
  return Buffer.from(key).toString("hex");
}

describe("the names of keys", () => {
  it("stand for one identity each", () => {
    fc.assert(
      fc.property(tricky, tricky, (a, b) => {
        fc.pre(a !== b);
        expect(sent(tagOf(a))).not.toBe(sent(tagOf(b)));
      }),
      { numRuns: 2_000 },
    );
  });

  it("stand for one identity under one rule, or one idempotency key of an identity", () => {
    const named = fc.tuple(tricky, tricky, fc.option(tricky, { nil: undefined }));
    fc.assert(
      fc.property(named, named, (a, b) => {
        const [mine, yours] = [keysOf(...a), keysOf(...b)].map((keys) => keys.map(sent));
        expect(mine[0] === yours[0]).toBe(a[0] === b[0] && a[1] === b[1]);
        expect(mine[0]).not.toBe(yours[1]);
        if (mine.length > 1 && yours.length > 1) expect(mine[1] === yours[1]).toBe(a[0] === b[0] && a[2] === b[2]);
      }),
      { numRuns: 2_000 },
    );
  });

  it("are in one slot for all that belongs to an identity: its tag decides, and nothing else", () => {
    fc.assert(
      fc.property(tricky, tricky, tricky, tricky, (identity, rule, other, idempotencyKey) => {
        const keys = [...keysOf(identity, rule, idempotencyKey), ...keysOf(identity, other)];
        expect(new Set(keys.map(slotOf))).toEqual(new Set([slotOf(tagOf(identity))]));
      }),
      { numRuns: 1_000 },
    );
  });

  it("are apart for two algorithms under one name", () => {
    const nothing = (): void => {};
    const keys = [fixedWindow("9/s"), gcra("9/s")].map(
      (limit) =>
        planner.request("take", [{ rule: { name: "r", limit }, key: "a", cost: 1 }], undefined, nothing, nothing)
          .keys[0],
    );
    expect(new Set(keys).size).toBe(2);
  });

  it("show an ordinary identity as it is, and stay short for one of a megabyte", () => {
    expect(keysOf("user:42", "api")).toEqual(["rl:{user:42}:api:fixed_window"]);
    expect(keysOf("x".repeat(1_000_000), "api", "y".repeat(1_000_000)).every(({ length }) => length < 150)).toBe(true);
  });
});
