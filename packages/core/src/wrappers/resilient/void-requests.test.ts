import { describe, expect, it } from "vitest";
import { context, giveUp, operation, TODAY_MS, ten } from "../../../test/wrappers/resilient/context.ts";
import { FaultyStore } from "../../../test/wrappers/resilient/faulty-store.ts";
import { type ApplyOptions, resilient } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

describe("what a resilient store asks the store inside", () => {
  it("is void from the deadline on, by the clock of that store", async () => {
    const serverClock = new ManualClock(TODAY_MS + 3_600_000);
    const inner = new FaultyStore(serverClock);
    const store = resilient(inner, { clock: new ManualClock(TODAY_MS), deadlineMs: 80 });
    await store.apply("take", [operation()]);
    // In whole milliseconds, rounded up.
    expect(inner.calls[0][2]).toEqual({ voidFrom: Math.ceil(TODAY_MS + 3_600_000 + 80) * 1000 });
    expect(store.clock).toBe(serverClock);
  });

  it("says the same for all calls of one millisecond", async () => {
    const { clock, inner, take } = context();
    clock.set(1_000.001);
    for (let i = 0; i < 11; i += 1) {
      await take("k");
      await clock.advance(0.1);
    }
    const options = inner.calls.map(([, , given]) => given);
    expect(new Set(options.slice(0, 10)).size).toBe(1);
    expect(options[9]).toEqual({ voidFrom: 1_051_000 });
    expect(options[10]).toEqual({ voidFrom: 1_052_000 });
  });

  it("keeps the idempotency key of the caller, and an earlier end", async () => {
    const { clock, inner, ask } = context();
    clock.set(1_000);
    const given: (ApplyOptions | undefined)[] = [
      { idempotencyKey: "once" },
      { voidFrom: 1_020_000 },
      { voidFrom: 2_000_000, idempotencyKey: "twice" },
    ];
    for (const options of given) await ask("take", operation(), options);
    expect(inner.calls.map(([, , options]) => options)).toEqual([
      { idempotencyKey: "once", voidFrom: 1_050_000 },
      { voidFrom: 1_020_000 },
      { idempotencyKey: "twice", voidFrom: 1_050_000 },
    ]);
  });

  it("is as the caller wrote it if that store reports no time", async () => {
    const { inner } = context();
    const timeless = { apply: inner.apply.bind(inner) };
    const store = resilient(timeless, { clock: inner.clock });
    await store.apply("take", [operation()]);
    await store.apply("take", [operation()], { idempotencyKey: "once" });
    expect(inner.calls.map(([, , options]) => options)).toEqual([undefined, { idempotencyKey: "once" }]);
    expect(store.clock).toBeUndefined();
  });
});

describe("an idempotency key in an outage", () => {
  it("is not remembered: each call is answered, and charged to the share, on its own", async () => {
    const scene = context();
    await giveUp(scene);
    const options = { idempotencyKey: "once" };
    expect(await scene.ask("take", operation(), options)).toMatchObject({ remaining: 9 });
    expect(await scene.ask("take", operation(ten, "k", 2), options)).toMatchObject({ remaining: 7 });
  });
});

describe("a request that its caller has declared void", () => {
  it.each(["rejecting", "throwing"] as const)("gets no fallback answer (a store that is %s)", async (mood) => {
    const scene = context();
    scene.inner.mood = mood;
    const voidFrom = scene.clock.now();
    await expect(scene.ask("take", operation(), { voidFrom })).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    await giveUp(scene);
    await expect(scene.ask("take", operation(), { voidFrom })).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    expect(await scene.ask("peek", operation(), { voidFrom: voidFrom + 1 })).toMatchObject({ remaining: 10 });
  });

  it("while the store was silent gets no fallback answer", async () => {
    const scene = context();
    scene.inner.mood = "silent";
    const asked = scene.ask("take", operation(), { voidFrom: scene.clock.now() + 10_000 });
    const refused = expect(asked).rejects.toMatchObject({ code: "HG_STORE_TIMEOUT" });
    await scene.clock.advance(50);
    await refused;
    await giveUp(scene);
    expect(await scene.ask("peek", operation())).toMatchObject({ remaining: 10 });
  });
});
