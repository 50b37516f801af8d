import { describe, expect, it } from "vitest";
import { watch } from "../../../test/limiter/watched-promise.ts";
import { context, giveUp, operation } from "../../../test/wrappers/resilient/context.ts";
import { HeadgateError, StoreError } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import { Breaker } from "./breaker.ts";

describe("the breaker of a resilient store", () => {
  it.each([1, 2, 5, 9])("opens after %d failures in a row, and then stops asking the store", async (failures) => {
    const { inner, store, take } = context({ breaker: { failures } });
    inner.mood = "rejecting";
    for (let i = 1; i < failures; i += 1) await take("k");
    expect(store.stats.breaker).toBe("closed");
    await take("k");
    expect(store.stats.breaker).toBe("open");
    expect(inner.calls).toHaveLength(failures);
    for (let i = 0; i < 20; i += 1) expect(await take("k")).toMatchObject({ source: "fallback" });
    expect(inner.calls).toHaveLength(failures);
  });

  it("does not open while answers come in between", async () => {
    const { inner, store, take } = context();
    for (let i = 0; i < 100; i += 1) {
      inner.mood = i % 5 === 0 ? "well" : "rejecting";
      await take("k");
    }
    expect(store.stats.breaker).toBe("closed");
    expect(inner.calls).toHaveLength(100);
  });

  it.each(["rejecting", "throwing", "silent"] as const)("opens for a store that is %s", async (mood) => {
    const { clock, inner, store, take } = context();
    inner.mood = mood;
    const answers = Array.from({ length: 5 }, () => take("k"));
    await clock.advance(50);
    await Promise.all(answers);
    expect(store.stats.breaker).toBe("open");
  });

  it("opens for a store that always answers too late", async () => {
    const scene = context();
    scene.inner.mood = "slow";
    scene.inner.slowMs = 60;
    for (let i = 0; i < 5; i += 1) {
      const answer = scene.take("k");
      await scene.clock.advance(70);
      expect(await answer).toMatchObject({ source: "fallback" });
    }
    expect(scene.store.stats.breaker).toBe("open");
  });

  it("does not open for denials, for these are answers", async () => {
    const { inner, store, take } = context();
    for (const mood of ["well", "prompt"] as const) {
      inner.mood = mood;
      for (let i = 0; i < 50; i += 1) await take("k");
      expect(await take("k")).toMatchObject({ allowed: false, source: "store", degraded: false });
    }
    expect(store.stats.breaker).toBe("closed");
  });

  it("sends one probe each retryMs, and answers all others meanwhile", async () => {
    const scene = context({ breaker: { retryMs: 250 } });
    await giveUp(scene);
    scene.inner.mood = "silent";
    const probes = [];
    for (let ms = 1; ms <= 1_000; ms += 1) {
      await scene.clock.advance(1);
      const before = scene.inner.calls.length;
      const answers = [watch(scene.clock, scene.take("k")), watch(scene.clock, scene.take("k"))];
      if (scene.inner.calls.length > before) probes.push(ms);
      await scene.clock.advance(0);
      expect(answers.filter(({ value }) => value?.source === "fallback").length).toBeGreaterThanOrEqual(1);
    }
    expect(probes).toEqual([250, 500, 750, 1_000]);
    expect(scene.inner.calls).toHaveLength(4);
  });

  it.each(["well", "prompt"] as const)("closes when the probe is answered (%s)", async (mood) => {
    const scene = context();
    await giveUp(scene);
    scene.inner.mood = mood;
    await scene.clock.advance(249.999);
    expect(await scene.take("k")).toMatchObject({ source: "fallback" });
    await scene.clock.advance(0.001);
    expect(await scene.take("k")).toMatchObject({ source: "store" });
    expect(scene.store.stats.breaker).toBe("closed");
    for (let i = 0; i < 4; i += 1) expect(await scene.take("k")).toMatchObject({ source: "store" });
    scene.inner.mood = "rejecting";
    for (let i = 0; i < 4; i += 1) await scene.take("k");
    expect(scene.store.stats.breaker).toBe("closed");
  });

  it("closes by a denial too", async () => {
    const scene = context();
    for (let i = 0; i < 10; i += 1) await scene.take("k");
    await giveUp(scene);
    scene.inner.mood = "well";
    await scene.clock.advance(250);
    expect(await scene.take("k", 10)).toMatchObject({ allowed: false, source: "store" });
    expect(scene.store.stats.breaker).toBe("closed");
  });

  it("has no second probe before the first has ended, be the deadline longer than retryMs", async () => {
    const scene = context({ deadlineMs: 300, breaker: { retryMs: 10 } });
    await giveUp(scene);
    scene.inner.mood = "silent";
    for (let ms = 0; ms < 900; ms += 5) {
      scene.take("k");
      await scene.clock.advance(5);
    }
    // The first comes 300 ms after the breaker opened.
    expect(scene.inner.calls).toHaveLength(2);
  });

  it("is not closed by a late answer to a call of before it opened", async () => {
    const scene = context();
    scene.inner.mood = "slow";
    scene.inner.slowMs = 40;
    const late = scene.take("late");
    await giveUp(scene);
    await scene.clock.advance(40);
    expect(await late).toMatchObject({ source: "store" });
    expect(scene.store.stats.breaker).toBe("open");
  });

  it("is not opened by failures of before it closed", () => {
    const breaker = new Breaker(2, 1_000, new ManualClock(), () => {});
    const { era } = breaker;
    for (let i = 0; i < 2; i += 1) breaker.failed(era, "gone");
    breaker.succeeded(breaker.era);
    expect(breaker.state).toBe("closed");
    for (let i = 0; i < 10; i += 1) breaker.failed(era, "gone");
    expect(breaker.state).toBe("closed");
  });

  it("neither opens nor closes on a caller's error", async () => {
    const scene = context();
    const mistake = new HeadgateError("HG_KEYS_APART", "checks", "are apart");
    scene.inner.failure = mistake;
    for (const mood of ["rejecting", "throwing"] as const) {
      scene.inner.mood = mood;
      for (let i = 0; i < 20; i += 1) await expect(scene.take("k")).rejects.toBe(mistake);
    }
    expect(scene.store.stats.breaker).toBe("closed");
    scene.inner.failure = new StoreError("HG_STORE_REFUSED", "no");
    await giveUp(scene);
    await scene.clock.advance(250);
    scene.inner.failure = mistake;
    await expect(scene.take("k")).rejects.toBe(mistake);
    expect(scene.store.stats.breaker).toBe("open");
    // The next probe is due at its time.
    scene.inner.mood = "well";
    expect(await scene.take("k")).toMatchObject({ source: "fallback" });
    await scene.clock.advance(250);
    expect(await scene.take("k")).toMatchObject({ source: "store" });
  });

  it("keeps probing when the clock is set back", async () => {
    const scene = context();
    await giveUp(scene);
    scene.clock.set(scene.clock.now() / 1000 - 3_600_000);
    scene.inner.mood = "well";
    expect(await scene.ask("take", operation())).toMatchObject({ source: "store" });
    expect(scene.store.stats.breaker).toBe("closed");
  });
});
