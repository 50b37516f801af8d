import { describe, expect, it } from "vitest";
import { gcra } from "../algorithms/registry.ts";
import { testLimiter } from "./index.ts";

describe("a limiter for tests", () => {
  it("goes by its clock alone", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/m") });
    expect(limiter.checkSync("api", "k").allowed).toBe(true);
    expect(limiter.checkSync("api", "k")).toMatchObject({ allowed: false, retryAfterMs: 60_000 });
    await clock.advance(59_999);
    expect(limiter.checkSync("api", "k")).toMatchObject({ allowed: false, retryAfterMs: 1 });
    await clock.advance(1);
    expect((await limiter.check("api", "k")).allowed).toBe(true);
  });

  it("starts at the epoch, or at the given time", () => {
    const rules = { api: gcra("1/m") };
    expect(testLimiter(rules).clock.now()).toBe(0);
    expect(testLimiter(rules, { startMs: 12.5 }).clock.now()).toBe(12_500);
  });

  it("wakes the calls that wait on its clock", async () => {
    const { limiter, clock } = testLimiter({ api: gcra("1/m") });
    limiter.checkSync("api", "k");
    const waiting = limiter.wait("api", "k");
    await clock.advance(60_000);
    expect((await waiting).allowed).toBe(true);
  });
});
