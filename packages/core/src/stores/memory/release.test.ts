import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { gcra, slidingWindowLog } from "../../algorithms/registry.ts";
import type { Limit } from "../../limits/limit.ts";
import { testLimiter } from "../../testing/index.ts";

const MEGABYTE = 2 ** 20;

// Rows live in ArrayBuffers and nothing else here makes any, so their total tells what a store holds.
describe.each<[string, Limit, number, number]>([
  ["a million idle keys of gcra", gcra("10/s"), 1_000_000, 40],
  ["a hundred thousand idle keys of sliding_window_log", slidingWindowLog("10/s"), 100_000, 5],
])("the memory of %s", (_name, limit, keys, leastMegabytes) => {
  it("is given back as work comes in", { timeout: 60_000 }, () => {
    const before = held();
    const { limiter, clock } = testLimiter({ api: limit });
    for (let i = 0; i < keys; i += 1) limiter.checkSync("api", `key ${i}`);
    // A tenth of the keys come again at other times, so that rows of the log grow and leave their first place.
    for (let time = 1; time < 5; time += 1) {
      clock.set(time);
      for (let i = 0; i < keys; i += 10) limiter.checkSync("api", `key ${i}`);
    }
    expect(limiter.store.stats).toMatchObject({ api: { keys } });
    expect(held() - before).toBeGreaterThan(leastMegabytes * MEGABYTE);

    clock.set(60_000);
    for (let i = 0; i < 40_000; i += 1) {
      clock.set(60_000 + i);
      limiter.checkSync("api", "busy");
    }
    expect(limiter.store.stats).toMatchObject({ api: { keys: 1 } });
    expect(held() - before).toBeLessThan(MEGABYTE / 2);
  });
});

function held(): number {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  // The first collection leaves freeing the buffers to the background; the second waits for that.
  collect();
  collect();
  return process.memoryUsage().arrayBuffers;
}
