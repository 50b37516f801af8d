import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bucketedWindow,
  fixedWindow,
  gcra,
  leakyBucket,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "../../algorithms/registry.ts";
import { ManualClock } from "../../testing/index.ts";
import { MemoryStore } from "./memory-store.ts";

const limits = [
  tokenBucket("5/s"),
  leakyBucket("5/s"),
  gcra("5/s", { burst: 8 }),
  gcra("1000003/h"),
  fixedWindow("5/s"),
  slidingWindow("5/s"),
  slidingWindowLog("5/s"),
  bucketedWindow("5/s"),
];

const requests = fc.array(
  fc.record({
    limit: fc.constantFrom(...limits),
    key: fc.constantFrom("a", "b", "c", "d"),
    cost: fc.oneof(fc.integer({ min: 0, max: 9 }), fc.constant(2_000_000)),
    afterMs: fc.oneof(fc.constant(0), fc.nat(700)),
  }),
  { maxLength: 60 },
);

describe("a request of one operation, which has a way of its own", () => {
  it("is answered and charged as one among several is", () => {
    const property = fc.property(requests, fc.constantFrom(2, 100), (requests, maxKeys) => {
      const clock = new ManualClock();
      const quick = new MemoryStore({ clock, maxKeys });
      const whole = new MemoryStore({ clock, maxKeys });
      for (const { limit, key, cost, afterMs } of requests) {
        clock.set(clock.now() / 1000 + afterMs);
        const operation = { rule: { name: `${limit.algorithm} ${limit.limit}`, limit }, key, cost };
        // What comes with options goes the way of all.
        expect(quick.apply("take", [operation])).toEqual(whole.apply("take", [operation], {}));
      }
      expect(overflowed(quick)).toEqual(overflowed(whole));
    });
    fc.assert(property, { numRuns: 300 });
  });
});

describe("a request whose key is part of a text", () => {
  it("is answered and charged as with a string of its own, also in turns with those", () => {
    const turns = fc.array(fc.boolean(), { minLength: 1, maxLength: 7 });
    const property = fc.property(requests, turns, fc.constantFrom(2, 100), (requests, turns, maxKeys) => {
      const clock = new ManualClock();
      const parts = new MemoryStore({ clock, maxKeys });
      const strings = new MemoryStore({ clock, maxKeys });
      requests.forEach(({ limit, key, cost, afterMs }, i) => {
        clock.set(clock.now() / 1000 + afterMs);
        const rule = { name: `${limit.algorithm} ${limit.limit}`, limit };
        const now = clock.now();
        const { out } = parts;
        const rows = parts.rowsOf(rule, limit);
        if (turns[i % turns.length]) rows.takePart(limit, `<${key}>`, 1, 1 + key.length, cost, now, out);
        else rows.take(limit, key, cost, now, out);
        strings.rowsOf(rule, limit).take(limit, key, cost, now, strings.out);
        expect(out).toEqual(strings.out);
      });
      expect(parts.stats).toEqual(strings.stats);
    });
    fc.assert(property, { numRuns: 300 });
  });
});

it("a key has its own row after a key that is part of a longer text", () => {
  const limit = tokenBucket("100/s");
  const store = new MemoryStore({ clock: new ManualClock() });
  const now = store.clock.now();
  const { out } = store;
  const rows = store.rowsOf({ name: "api", limit }, limit);
  const remaining = ["a", "b", "a", "a"].map((key) => {
    rows.take(limit, key, 1, now, out);
    return out.remaining;
  });
  rows.takePart(limit, "<b>", 1, 2, 50, now, out);
  rows.take(limit, "a", 1, now, out);
  expect([...remaining, out.remaining]).toEqual([99, 99, 98, 97, 96]);
});

/** How many keys there are is another matter: each look for a row sweeps some that are blank. */
function overflowed({ stats }: MemoryStore): Record<string, number> {
  return Object.fromEntries(Object.entries(stats).map(([name, { overflowed }]) => [name, overflowed]));
}
