import { describe, expect, it } from "vitest";
import { cached, MemoryStore, SystemClock } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import type { CachedOptions } from "../../wrappers/cached/cached-options.ts";

describe("the options of a cached store", () => {
  it.each([
    [{ flushMs: -1 }, "flushMs"],
    [{ flushMs: Number.NaN }, "flushMs"],
    [{ flushMs: 2 ** 31 }, "flushMs"],
    [{ flushMs: "10" }, "flushMs"],
    [{ refreshMs: -1 }, "refreshMs"],
    [{ maxPending: 0 }, "maxPending"],
    [{ maxPending: 1.5 }, "maxPending"],
    [{ maxKeys: 0 }, "maxKeys"],
    [{ maxKeys: "7" }, "maxKeys"],
    [{ read: 1 }, "read"],
    [{ clock: {} }, "clock"],
    [{ flushMS: 10 }, "options.flushMS"],
    [7, "options"],
  ])("%j are refused, and %s named", (options, field) => {
    expect(() => cached(new MemoryStore(), options as CachedOptions)).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field }),
    );
  });

  it.each([undefined, null, 7, {}, "redis://"])("%j is refused as a store", (store) => {
    expect(() => cached(store as never)).toThrow(expect.objectContaining({ code: "HG_BAD_OPTION", field: "store" }));
  });

  it("the time is the store's, else that of the clock that is given, else the system's", () => {
    const [ofStore, given] = [new ManualClock(1), new ManualClock(2)];
    const timeless = { apply: () => [] };
    expect(cached(new MemoryStore({ clock: ofStore }), { clock: given }).clock).toBe(ofStore);
    expect(cached(timeless, { clock: given }).clock).toBe(given);
    expect(cached(timeless).clock).toBeInstanceOf(SystemClock);
  });
});
