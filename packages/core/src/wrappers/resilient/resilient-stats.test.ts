import { afterEach, describe, expect, it, vi } from "vitest";
import { context, giveUp, operation, rule, TODAY_MS, ten } from "../../../test/wrappers/resilient/context.ts";
import { FaultyStore } from "../../../test/wrappers/resilient/faulty-store.ts";
import { resilient, StoreError } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

describe("the stats of a resilient store", () => {
  it("begin at nothing", () => {
    expect({ ...context().store.stats }).toEqual({
      calls: 0,
      failures: { HG_STORE_TIMEOUT: 0, HG_STORE_UNREACHABLE: 0, HG_STORE_REFUSED: 0, other: 0 },
      fallbacks: { local: 0, allow: 0, deny: 0 },
      fallbacksByRule: {},
      fallbacksWhileAnswering: 0,
      callerDeadlines: 0,
      knownKeys: 0,
      breaker: "closed",
      openNodes: [],
      sinceMs: TODAY_MS,
    });
  });

  it("are live: they count calls, failures by code, and fallbacks by policy and by rule", async () => {
    const scene = context({ onError: { rules: { open: "allow" } }, breaker: { failures: 100 } });
    const { stats } = scene.store;
    await scene.take("k");
    scene.inner.mood = "rejecting";
    await scene.take("k");
    scene.inner.failure = new StoreError("HG_STORE_REFUSED", "OOM");
    await scene.take("k");
    scene.inner.mood = "throwing";
    scene.inner.failure = new TypeError("oops");
    await scene.ask("peek", operation(rule("open", ten.limit)));
    scene.inner.failure = undefined;
    await scene.store.apply("take", [operation(), operation(rule("open", ten.limit))]);
    scene.inner.mood = "silent";
    const last = scene.take("k");
    await scene.clock.advance(50);
    await last;
    expect(stats).toMatchObject({
      calls: 6,
      failures: { HG_STORE_TIMEOUT: 1, HG_STORE_UNREACHABLE: 1, HG_STORE_REFUSED: 1, other: 2 },
      fallbacks: { local: 4, allow: 1, deny: 0 },
      fallbacksByRule: { ten: 4, open: 2 },
      breaker: "closed",
    });
  });

  it("do not count as failures the calls that were not sent", async () => {
    const scene = context();
    await giveUp(scene);
    for (let i = 0; i < 10; i += 1) await scene.take("k");
    expect(scene.store.stats).toMatchObject({
      calls: 15,
      failures: { HG_STORE_UNREACHABLE: 5 },
      fallbacks: { local: 15 },
    });
  });

  it("distinguish fallbacks while the store answered other calls from those of an outage", async () => {
    const scene = context({ breaker: { failures: 100 } });
    scene.inner.mood = "slow";
    scene.inner.slowMs = 60;
    const late = scene.take("late");
    scene.inner.mood = "well";
    expect(await scene.take("k")).toMatchObject({ source: "store" });
    await scene.clock.advance(50);
    expect(await late).toMatchObject({ source: "fallback" });
    expect(scene.store.stats).toMatchObject({ fallbacks: { local: 1 }, fallbacksWhileAnswering: 1 });
    await scene.clock.advance(10);

    scene.inner.mood = "silent";
    const lost = [scene.take("k"), scene.take("k")];
    await scene.clock.advance(50);
    expect(await Promise.all(lost)).toMatchObject([{ source: "fallback" }, { source: "fallback" }]);
    scene.inner.mood = "rejecting";
    await scene.take("k");
    expect(scene.store.stats).toMatchObject({ fallbacks: { local: 4 }, fallbacksWhileAnswering: 1 });
  });

  it("count an answer that came too late as a sign of a store that answers", async () => {
    const scene = context({ breaker: { failures: 100 } });
    scene.inner.mood = "slow";
    scene.inner.slowMs = 60;
    const first = scene.take("first");
    await scene.clock.advance(30);
    const second = scene.take("second");
    await scene.clock.advance(60);
    await Promise.all([first, second]);
    expect(scene.store.stats).toMatchObject({ fallbacks: { local: 2 }, fallbacksWhileAnswering: 1 });
  });

  it("say of how many keys something is known", async () => {
    const scene = context({ maxKeys: 3 });
    for (const key of ["a", "b", "a", "c", "d"]) await scene.take(key);
    expect(scene.store.stats.knownKeys).toBe(3);
  });

  it("say since when the breaker is as it is", async () => {
    const scene = context();
    await scene.clock.advance(1_000);
    await giveUp(scene);
    expect(scene.store.stats).toMatchObject({ breaker: "open", sinceMs: TODAY_MS + 1_000 });
    await scene.clock.advance(600);
    scene.inner.mood = "well";
    await scene.take("k");
    expect(scene.store.stats).toMatchObject({ breaker: "closed", sinceMs: TODAY_MS + 1_600 });
  });
});

describe("a listener of a resilient store", () => {
  it("is called once when the store is given up, and once when it is back", async () => {
    const scene = context();
    for (let outage = 1; outage <= 3; outage += 1) {
      await giveUp(scene);
      for (let i = 0; i < 10; i += 1) await scene.take("k");
      for (let probe = 0; probe < 20; probe += 1) {
        await scene.clock.advance(300);
        await scene.take("k");
      }
      expect(scene.changes).toHaveLength(2 * outage - 1);
      expect(scene.changes.at(-1)).toEqual({ degraded: true, cause: scene.inner.failure });
      scene.inner.mood = "well";
      await scene.clock.advance(300);
      for (let i = 0; i < 10; i += 1) await scene.take("k");
      expect(scene.changes).toHaveLength(2 * outage);
      expect(scene.changes.at(-1)).toEqual({ degraded: false, afterMs: 6_300 });
    }
  });

  it("is called for each call that the store did not answer", async () => {
    const failures: string[] = [];
    const scene = context({ onFailure: (failure) => failures.push(failure), breaker: { failures: 3 } });
    scene.inner.mood = "rejecting";
    await scene.take("k");
    scene.inner.mood = "silent";
    const late = scene.take("k");
    await scene.clock.advance(50);
    await late;
    scene.inner.mood = "throwing";
    scene.inner.failure = new TypeError("oops");
    for (let i = 0; i < 5; i += 1) await scene.take("k");
    expect(failures).toEqual(["HG_STORE_UNREACHABLE", "HG_STORE_TIMEOUT", "other"]);
  });

  it("cannot stop the traffic by throwing an error", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const clock = new ManualClock(TODAY_MS);
    const inner = new FaultyStore(clock);
    const mine = new Error("mine");
    const onDegraded = (): void => {
      throw mine;
    };
    const store = resilient(inner, { clock, onDegraded, breaker: { failures: 1 } });
    inner.mood = "rejecting";
    expect(await store.apply("take", [operation()])).toMatchObject([{ source: "fallback" }]);
    await clock.advance(250);
    inner.mood = "well";
    expect(await store.apply("take", [operation()])).toMatchObject([{ source: "store" }]);
    expect(warned.mock.calls).toEqual([[mine], [mine]]);
  });

  it("is replaced by a process warning when the store is given up, if there is none", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const clock = new ManualClock(TODAY_MS);
    const inner = new FaultyStore(clock);
    const store = resilient(inner, { clock });
    inner.mood = "rejecting";
    for (let i = 0; i < 20; i += 1) await store.apply("take", [operation()]);
    await clock.advance(250);
    inner.mood = "well";
    await store.apply("take", [operation()]);
    expect(warned).toHaveBeenCalledTimes(1);
    expect(warned).toHaveBeenCalledWith(expect.stringContaining("is gone"), {
      type: "HeadgateWarning",
      code: "HG_DEGRADED",
    });
  });
});
