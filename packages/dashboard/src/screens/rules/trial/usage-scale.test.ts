import { describe, expect, it } from "vitest";
import { UsageScale } from "./usage-scale.ts";

describe("the scale of a usage distribution", () => {
  it.each([3, 12, 50, 200, 70_000])("puts every key into one bar, and covers all units: up to %d", (largest) => {
    const scale = new UsageScale(largest);
    const usages = [0, 1, 2, Math.ceil(largest / 2), largest];
    const bars = scale.bars(usages);
    expect(bars.reduce((all, { count }) => all + count, 0)).toBe(usages.length);
    expect(bars[0].from).toBe(1);
    expect(bars.at(-1)?.to).toBe(scale.max + 1);
    for (const [i, { from, to }] of bars.entries()) {
      expect(to).toBeGreaterThan(from);
      if (i > 0) expect(from).toBe(bars[i - 1].to);
    }
    const own = bars.find(({ from, to }) => from <= largest && largest < to);
    expect(own?.count).toBeGreaterThan(0);
  });

  it.each([8, 40, 500])("leads from a limit to its place and back: up to %d", (largest) => {
    const scale = new UsageScale(largest);
    for (let limit = 1; limit <= scale.max; limit += 1) {
      expect(scale.limitAt(scale.placeOfLimit(limit))).toBe(limit);
    }
    expect([scale.limitAt(-1), scale.limitAt(0)]).toEqual([1, 1]);
    expect([scale.limitAt(1), scale.limitAt(2)]).toEqual([scale.max, scale.max]);
    expect(scale.placeOf(1)).toBe(0);
    expect(scale.placeOfLimit(scale.max)).toBe(1);
  });

  it("labels few round numbers", () => {
    for (const largest of [1, 9, 40, 300, 9_000, 10_000_000]) {
      const ticks = new UsageScale(largest).ticks();
      expect(ticks.length).toBeGreaterThan(2);
      expect(ticks.length).toBeLessThan(16);
    }
  });
});
