import { describe, expect, it } from "vitest";
import { fixedWindow, gcra, MemoryStore, rateLimiter } from "../index.ts";
import { ManualClock } from "../testing/index.ts";

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

  it.each([
    ["another rate", gcra("2/m")],
    ["another algorithm", fixedWindow("3/m")],
  ])("cannot have %s under the same name", (_what, limit) => {
    const store = new MemoryStore({ clock: new ManualClock() });
    rateLimiter({ api: gcra("3/m") }, { store });
    expect(() => rateLimiter({ api: limit }, { store })).toThrow(
      expect.objectContaining({ code: "HG_BAD_RULES", field: "rules.api" }),
    );
  });

  it.each([
    ["a wider limit", gcra("10/m"), 7],
    ["another algorithm", fixedWindow("10/m"), 8],
  ])("both go by %s that one of them sets", async (_what, limit, remaining) => {
    const store = new MemoryStore({ clock: new ManualClock() });
    const one = rateLimiter({ api: gcra("3/m") }, { store });
    const other = rateLimiter({ api: gcra("3/m") }, { store });
    expect(other.checkSync("api", "k").remaining).toBe(2);
    one.setLimit("api", limit);
    expect(one.checkSync("api", "k", { cost: 2 })).toMatchObject({ limit: 10, remaining });
    expect(other.checkSync("api", "k")).toMatchObject({ limit: 10, remaining: remaining - 1 });
    expect(other.peekSync("api", "k")).toMatchObject({ limit: 10, remaining: remaining - 1 });
    expect((await other.checkAll([{ rule: "api", key: "k" }])).remaining).toBe(remaining - 2);
    expect(one.peekSync("api", "k").remaining).toBe(remaining - 2);
  });
});
