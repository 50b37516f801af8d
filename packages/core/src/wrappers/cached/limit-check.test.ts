import { describe, expect, it } from "vitest";
import { cached, fixedWindow, limitCheck, MemoryStore, slidingWindow } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

describe("limitCheck", () => {
  it("says whether to accept a key's request", async () => {
    const checkLimit = limitCheck(slidingWindow("2/m"), cached(new MemoryStore()));
    expect(await checkLimit("alice")).toEqual({ accept: true });
    expect(await checkLimit("alice")).toEqual({ accept: true });
    expect(await checkLimit("alice")).toEqual({ accept: false });
    expect(await checkLimit("bob")).toEqual({ accept: true });
  });

  it("accepts again when the ratio R of the window before has faded", async () => {
    const clock = new ManualClock(1_700_000_000_000 - (1_700_000_000_000 % 10_000));
    const checkLimit = limitCheck(
      slidingWindow({ limit: 10, windowMs: 10_000 }),
      cached(new MemoryStore({ clock }), { clock }),
    );
    for (let i = 0; i < 10; i += 1) await checkLimit("alice");
    // P = 10, L = 10: one more than C = 0 fits when R = 1 − (10 − 1) / 10 of the next window is over.
    await clock.advance(10_999);
    expect(await checkLimit("alice")).toEqual({ accept: false });
    await clock.advance(1);
    expect(await checkLimit("alice")).toEqual({ accept: true });
  });

  it("shares the counts of one limit, and keeps two limits apart", async () => {
    const store = cached(new MemoryStore());
    const [a, b] = [1, 2].map(() => limitCheck(fixedWindow("1/h"), store));
    const other = limitCheck(fixedWindow("1/h", { anchor: "request" }), store);
    expect(await a("alice")).toEqual({ accept: true });
    expect(await b("alice")).toEqual({ accept: false });
    expect(await other("alice")).toEqual({ accept: true });
  });

  it("works over any store, at once or not", async () => {
    const memory = new MemoryStore();
    const checkLimit = limitCheck(fixedWindow("1/h"), memory);
    expect(await checkLimit("alice")).toEqual({ accept: true });
    expect(await checkLimit("alice")).toEqual({ accept: false });
  });

  it.each([undefined, null, "10/m", { algorithm: "gcra", limit: 1, window: 1 }])("refuses %j as a limit", (limit) => {
    expect(() => limitCheck(limit as never, new MemoryStore())).toThrow(
      expect.objectContaining({ code: "HG_BAD_LIMIT", field: "limit" }),
    );
  });

  it.each([undefined, null, "redis://", {}])("refuses %j as a store", (store) => {
    expect(() => limitCheck(slidingWindow("1/m"), store as never)).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field: "store" }),
    );
  });

  it.each([undefined, 7, null])("refuses %j as a key", async (key) => {
    const checkLimit = limitCheck(slidingWindow("1/m"), new MemoryStore());
    await expect(checkLimit(key as never)).rejects.toMatchObject({ code: "HG_BAD_KEY", field: "key" });
  });
});
