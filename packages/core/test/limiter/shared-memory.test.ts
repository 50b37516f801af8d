import { describe, expect, it } from "vitest";
import { gcra, MemoryStore, rateLimiter } from "../../src/index.ts";
import { ManualClock } from "../../src/testing/index.ts";

describe("two limiters over one memory store", () => {
  it("share what was used under a rule of the same name", async () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const one = rateLimiter({ api: gcra("3/m") }, { store });
    const other = rateLimiter({ api: gcra("3/m") }, { store });
    expect(one.checkSync("api", "k").remaining).toBe(2);
    expect(other.checkSync("api", "k").remaining).toBe(1);
    expect((await one.check("api", "k")).remaining).toBe(0);
    expect(other.checkSync("api", "k").allowed).toBe(false);
  });

  it("keep rules of different names apart", () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const one = rateLimiter({ api: gcra("1/m") }, { store });
    const other = rateLimiter({ site: gcra("1/m") }, { store });
    expect(one.checkSync("api", "k").allowed).toBe(true);
    expect(other.checkSync("site", "k").allowed).toBe(true);
  });

  it("each decide by their own limit", () => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const wide = rateLimiter({ api: gcra("100/m") }, { store });
    const narrow = rateLimiter({ api: gcra("2/m") }, { store });
    for (let i = 0; i < 3; i += 1) {
      expect(wide.checkSync("api", "k", { cost: 10 })).toMatchObject({ allowed: true, remaining: 90 - 10 * i });
      expect(narrow.checkSync("api", "k")).toMatchObject({ allowed: false, remaining: 0 });
    }
  });
});
