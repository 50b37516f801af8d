import { describe, expect, it } from "vitest";
import { watch } from "../../../test/limiter/watched-promise.ts";
import { context, operation, TODAY_MS } from "../../../test/wrappers/resilient/context.ts";
import { StoreError } from "../../index.ts";

const within = { answerWithin: 15_000 };

describe("a call whose caller waits less than the store may take", () => {
  it("is answered by the store if that is in time", async () => {
    const { clock, inner, store, ask } = context({ onError: "deny" });
    inner.mood = "slow";
    inner.slowMs = 14;
    const answer = watch(clock, ask("take", operation(), within));
    await clock.advance(100);
    expect(answer).toMatchObject({ at: TODAY_MS + 14, value: { allowed: true, source: "store" } });
    expect(store.stats.callerDeadlines).toBe(0);
  });

  it("is answered by the fallback otherwise, which is not a failure of a store that answers later", async () => {
    const { clock, inner, store, changes, ask } = context({ onError: "deny", breaker: { failures: 1 } });
    inner.mood = "slow";
    inner.slowMs = 30;
    const answer = watch(clock, ask("take", operation(), within));
    await clock.advance(100);
    expect(answer.value).toMatchObject({ allowed: false, source: "fallback", degraded: true });
    expect(answer.at).toBeCloseTo(TODAY_MS + 15, 2);
    expect(store.stats).toMatchObject({ callerDeadlines: 1, breaker: "closed", fallbacks: { deny: 1 } });
    expect(store.stats.failures.HG_STORE_TIMEOUT).toBe(0);
    expect(changes).toEqual([]);
  });

  it("is void from then on, so that it never charges", async () => {
    const { clock, inner, ask } = context({ onError: "allow" });
    const before = clock.now();
    await ask("take", operation(), within);
    const [[, , options]] = inner.calls;
    expect(options?.voidFrom).toBeGreaterThanOrEqual(before + 15_000);
    expect(options?.voidFrom).toBeLessThanOrEqual(before + 16_000);
  });

  it("is not counted as a failure when the store rejects it because it came too late", async () => {
    const { clock, inner, store, ask } = context({ onError: "allow", breaker: { failures: 1 } });
    const late = clock.sleep(20).then(() => Promise.reject(new StoreError("HG_STORE_TIMEOUT", "came too late")));
    inner.apply = () => late;
    const answer = watch(clock, ask("take", operation(), within));
    await clock.advance(100);
    expect(answer).toMatchObject({ value: { allowed: true, source: "fallback" } });
    expect(store.stats).toMatchObject({ callerDeadlines: 1, breaker: "closed" });
  });

  it("is a failure of a store that does not answer within its own deadline", async () => {
    const { clock, inner, store, ask } = context({ onError: "allow", breaker: { failures: 1 } });
    inner.mood = "silent";
    const answer = watch(clock, ask("take", operation(), within));
    await clock.advance(49);
    expect(answer.at).toBeCloseTo(TODAY_MS + 15, 2);
    expect(store.stats.breaker).toBe("closed");
    await clock.advance(2);
    expect(store.stats).toMatchObject({ callerDeadlines: 1, breaker: "open", fallbacks: { allow: 1 } });
    expect(store.stats.failures.HG_STORE_TIMEOUT).toBe(1);
  });

  it("remembers the store's denials", async () => {
    const { clock, inner, ask } = context({ onError: "allow" });
    await ask("take", operation(undefined, "k", 10));
    expect(await ask("take", operation())).toMatchObject({ allowed: false, source: "store" });
    inner.mood = "silent";
    const answer = watch(clock, ask("take", operation(), within));
    await clock.advance(15);
    expect(answer).toMatchObject({ value: { allowed: false, source: "fallback" } });
  });

  it("has the deadline of the store if it waits longer", async () => {
    const { clock, inner, store, ask } = context({ onError: "deny" });
    inner.mood = "silent";
    const answer = watch(clock, ask("take", operation(), { answerWithin: 80_000 }));
    await clock.advance(50);
    expect(answer.at).toBeCloseTo(TODAY_MS + 50, 2);
    expect(store.stats.callerDeadlines).toBe(0);
  });
});
