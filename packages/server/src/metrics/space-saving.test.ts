import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SpaceSaving } from "./space-saving.ts";

/** Skewed, as traffic is: some keys come often, most hardly ever. */
const streams = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.nat({ max: 4 }) },
    { weight: 2, arbitrary: fc.nat({ max: 30 }) },
    { weight: 2, arbitrary: fc.nat({ max: 10_000 }) },
  ),
  { maxLength: 800 },
);

describe("the most frequent keys", () => {
  it("are found with the error that the number of entries allows, and no more", () => {
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 40 }), (stream, capacity) => {
        const sketch = new SpaceSaving(capacity);
        const truth = new Map<string, number>();
        for (const each of stream) {
          const key = String(each);
          sketch.add(key);
          truth.set(key, (truth.get(key) ?? 0) + 1);
        }
        const top = sketch.top(Number.POSITIVE_INFINITY);
        const bound = stream.length / capacity;

        expect(sketch.total).toBe(stream.length);
        expect(top.length).toBe(Math.min(capacity, truth.size));
        expect(top.reduce((sum, { count }) => sum + count, 0)).toBe(stream.length);
        for (const { key, count, error } of top) {
          const real = truth.get(key) ?? 0;
          expect(real).toBeLessThanOrEqual(count);
          expect(real).toBeGreaterThanOrEqual(count - error);
          expect(error).toBeLessThanOrEqual(bound);
        }
        const known = new Set(top.map(({ key }) => key));
        for (const [key, real] of truth) if (real > bound) expect(known).toContain(key);
        expect(top.map(({ count }) => count)).toEqual(top.map(({ count }) => count).sort((a, b) => b - a));
      }),
      { numRuns: 500 },
    );
  });

  it("are exact while there is room for all", () => {
    const sketch = new SpaceSaving(3);
    for (const key of ["b", "a", "c", "a", "c", "a"]) sketch.add(key);
    expect(sketch.top(2)).toEqual([
      { key: "a", count: 3, error: 0 },
      { key: "c", count: 2, error: 0 },
    ]);
  });

  it("take keys that have a meaning to JavaScript as any other", () => {
    const sketch = new SpaceSaving(2);
    for (const key of ["__proto__", "constructor", "__proto__"]) sketch.add(key);
    expect(sketch.top(1)).toEqual([{ key: "__proto__", count: 2, error: 0 }]);
  });
});
