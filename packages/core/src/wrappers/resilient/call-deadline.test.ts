import { describe, expect, it, vi } from "vitest";
import { type Watched, watch } from "../../../test/limiter/watched-promise.ts";
import { context, operation, TODAY_MS } from "../../../test/wrappers/resilient/context.ts";
import { FaultyStore } from "../../../test/wrappers/resilient/faulty-store.ts";
import { type Answer, type Clock, resilient } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";

describe("a call to a resilient store", () => {
  it("that is answered in time gets the answer of the store", async () => {
    const { clock, inner, take } = context({ onError: "deny" });
    inner.mood = "slow";
    inner.slowMs = 49;
    const answer = watch(clock, take("k"));
    await clock.advance(200);
    expect(answer).toMatchObject({ at: TODAY_MS + 49, value: { allowed: true, source: "store", degraded: false } });
  });

  it.each([
    [{ deadlineMs: 50 }, 50],
    [{ deadlineMs: 5 }, 5],
    [{ deadlineMs: 0.2 }, 0.2],
    [{ deadlineMs: 86_400_000 }, 86_400_000],
  ])("that is not answered ends at the deadline: %o", async (options, ms) => {
    const { clock, inner, take } = context({ ...options, onError: "deny" });
    inner.mood = "silent";
    const answer = watch(clock, take("k"));
    await clock.advance(ms - 0.001);
    expect(answer.at).toBeUndefined();
    await clock.advance(0.001);
    expect(answer).toMatchObject({ value: { allowed: false, source: "fallback", degraded: true } });
    expect(answer.at).toBeCloseTo(TODAY_MS + ms, 2);
  });

  it("has 250 ms unless stated, which a busy but healthy store meets", async () => {
    const clock = new ManualClock(TODAY_MS);
    const inner = new FaultyStore(clock);
    const store = resilient(inner, { clock, onError: "deny" });
    inner.mood = "slow";
    inner.slowMs = 249;
    const busy = watch(clock, Promise.resolve(store.apply("take", [operation()])));
    await clock.advance(249);
    expect(busy).toMatchObject({ at: TODAY_MS + 249, value: [{ source: "store" }] });
    inner.mood = "silent";
    const gone = watch(clock, Promise.resolve(store.apply("take", [operation()])));
    await clock.advance(250);
    expect(gone).toMatchObject({ at: TODAY_MS + 499, value: [{ source: "fallback" }] });
  });

  it("has a deadline of its own, whenever it was made and whatever became of the others", async () => {
    const { clock, inner, take } = context({ onError: "deny", breaker: { failures: 1_000 } });
    const answers = [];
    for (let i = 0; i < 40; i += 1) {
      inner.mood = i % 3 === 0 ? "silent" : i % 3 === 1 ? "slow" : "well";
      inner.slowMs = 3 * i;
      answers.push({
        made: clock.now() / 1000,
        ms: [50, Math.min(50, 3 * i), 0][i % 3],
        watched: watch(clock, take("k")),
      });
      await clock.advance(7);
    }
    await clock.advance(50);
    for (const { made, ms, watched } of answers) expect(watched.at).toBeCloseTo(made + ms, 2);
  });

  it("is answered without a promise if the store does so", () => {
    const { inner, store } = context();
    inner.mood = "prompt";
    expect(store.apply("take", [operation()])).toMatchObject([{ allowed: true, source: "store", degraded: false }]);
  });

  it("drops an answer, and an error, that come too late", async () => {
    const { clock, inner, store, take } = context({ onError: "deny" });
    inner.mood = "slow";
    inner.slowMs = 60;
    const answer = watch(clock, take("k"));
    vi.spyOn(inner, "apply").mockImplementation(() => clock.sleep(60).then(() => Promise.reject(new Error("late"))));
    const other = watch(clock, take("k"));
    await clock.advance(100);
    for (const watched of [answer, other]) {
      expect(watched).toMatchObject({ at: TODAY_MS + 50, value: { allowed: false, source: "fallback" } });
    }
    expect(store.stats).toMatchObject({ failures: { HG_STORE_TIMEOUT: 2, other: 0 } });
  });

  it("keeps no more than one timer, and none when nothing is asked", async () => {
    const { clock, inner, store, take } = context();
    const sleep = vi.spyOn(clock, "sleep");
    inner.mood = "prompt";
    for (let i = 0; i < 100; i += 1) store.apply("take", [operation()]);
    expect(sleep).not.toHaveBeenCalled();
    inner.mood = "silent";
    const answers = Array.from({ length: 100 }, () => take("k"));
    expect(sleep).toHaveBeenCalledTimes(1);
    await clock.advance(50);
    await Promise.all(answers);
    await clock.advance(1_000);
    expect(sleep).toHaveBeenCalledTimes(1);
  });

  describe("by a clock that people set", () => {
    /** Asks at the start and at 30 ms, has the clock put at 40 ms, and asks again at 45 ms; answers when each ended. */
    async function ends(put: number): Promise<(number | undefined)[]> {
      const clock = new ManualClock(TODAY_MS);
      let lead = 0;
      const wall: Clock = { now: () => clock.now() + lead, sleep: (ms, signal) => clock.sleep(ms, signal) };
      const inner = new FaultyStore(clock);
      inner.mood = "silent";
      const store = resilient(inner, { clock: wall, deadlineMs: 50, onDegraded: () => {} });
      const calls: Watched<readonly Answer[]>[] = [];
      // Step by step, for a timer that seems late lets a turn of the event loop pass.
      for (let ms = 0; ms < 300; ms += 1) {
        if (ms === 40) lead = put * 1000;
        if ([0, 30, 45, 200].includes(ms)) {
          calls.push(watch(clock, Promise.resolve(store.apply("take", [operation()]))));
        }
        await clock.advance(1);
      }
      return calls.map(({ at }) => at && Math.round(at - TODAY_MS));
    }

    it("forward ends at its time, or with the one before", async () => {
      expect(await ends(3_600_000)).toEqual([50, 50, 95, 250]);
    });

    it("back is not kept for long", async () => {
      expect(await ends(-3_600_000)).toEqual([50, 100, 100, 250]);
    });
  });
});
