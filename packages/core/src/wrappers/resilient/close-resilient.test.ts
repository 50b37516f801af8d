import { describe, expect, it, vi } from "vitest";
import { watch } from "../../../test/limiter/watched-promise.ts";
import { context, operation, TODAY_MS } from "../../../test/wrappers/resilient/context.ts";
import { MemoryStore, resilient } from "../../index.ts";

describe("closing a resilient store", () => {
  it("closes the store inside, if that can be closed", async () => {
    const { inner, store } = context();
    await store.close();
    expect(inner.closed).toBe(1);
    await resilient(new MemoryStore()).close();
  });

  it("answers all pending calls, and leaves no timer behind", async () => {
    const { clock, inner, store, take } = context();
    const signals: (AbortSignal | undefined)[] = [];
    const sleep = clock.sleep.bind(clock);
    vi.spyOn(clock, "sleep").mockImplementation((ms, signal) => {
      signals.push(signal);
      return sleep(ms, signal);
    });
    inner.mood = "silent";
    const pending = [take("k"), take("l")].map((answer) => watch(clock, answer));
    await clock.advance(10);
    await store.close();
    await clock.advance(0);
    for (const answer of pending) expect(answer).toMatchObject({ at: TODAY_MS + 10, value: { source: "fallback" } });
    expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
  });

  it("lets the store inside answer what it still can", async () => {
    const { clock, inner, store, take } = context();
    inner.mood = "slow";
    inner.slowMs = 20;
    vi.spyOn(inner, "close").mockImplementation(() => clock.sleep(30) as never);
    const answer = watch(clock, take("k"));
    const closed = watch(clock, store.close());
    await clock.advance(40);
    expect(answer).toMatchObject({ at: TODAY_MS + 20, value: { source: "store" } });
    expect(closed.at).toBe(TODAY_MS + 30);
  });

  it("passes on what closing fails with", async () => {
    const failing = { apply: () => [], close: () => Promise.reject(new Error("stuck")) };
    await expect(resilient(failing).close()).rejects.toThrow("stuck");
  });

  it("keeps deadlines in force for calls made even then", async () => {
    const { clock, inner, store } = context();
    inner.mood = "silent";
    const before = store.apply("take", [operation()]);
    await store.close();
    await before;
    const after = watch(clock, Promise.resolve(store.apply("take", [operation()])));
    await clock.advance(50);
    expect(after).toMatchObject({ at: TODAY_MS + 50, value: [{ source: "fallback" }] });
  });
});
