import fc from "fast-check";
import { fixedWindow, gcra, type Limit, MemoryStore, slidingWindowLog, tokenBucket } from "headgate";
import { ManualClock } from "headgate/testing";
import { describe, expect, it } from "vitest";
import { type RecordedRequest, RecordedTraffic } from "./recorded-traffic.ts";

const SECOND = 1_000_000;
const START = 1_767_225_600 * SECOND;

function take(seconds: number, key: string, more: Partial<RecordedRequest> = {}): RecordedRequest {
  return { time: START + seconds * SECOND, key, action: "take", cost: 1, ...more };
}

const steady = Array.from({ length: 60 }, (_, i) => take(i, "steady"));
const busy = Array.from({ length: 30 }, (_, i) => take(10 + i / 10, "busy"));
const traffic = new RecordedTraffic([...steady, ...busy].reverse());

describe("recorded traffic", () => {
  it("yields what a limit would have denied, in order of time whatever the order of its input", () => {
    expect(traffic.replay(fixedWindow("20/10s"))).toEqual({ requests: 90, denied: 10, keys: 2, deniedKeys: 1 });
    expect(traffic.replay(fixedWindow("30/10s"))).toMatchObject({ denied: 0, deniedKeys: 0 });
    expect(traffic.replay(fixedWindow("5/10s"))).toMatchObject({ denied: 55, deniedKeys: 2 });
    expect(traffic.replay(tokenBucket("60/m", { burst: 10 }))).toMatchObject({ denied: 18, deniedKeys: 1 });
  });

  it("finds the largest usage of each key in any window", () => {
    const unlimited = slidingWindowLog(`${Number.MAX_SAFE_INTEGER}/10s`);
    expect([...traffic.peaks(unlimited)].sort((a, b) => a - b)).toEqual([10, 30]);
  });

  it("corrects the usage as the service did, and counts retries once", () => {
    const corrected = new RecordedTraffic([
      take(0, "a", { idempotencyKey: "x" }),
      take(0, "a", { idempotencyKey: "x" }),
      take(1, "a", { action: "refund" }),
      take(2, "a"),
      take(3, "a", { action: "penalize", cost: 2 }),
      take(4, "a"),
      take(5, "a", { action: "reset", cost: 0 }),
      take(6, "a"),
      take(7, "b", { action: "reset", cost: 0 }),
    ]);
    expect(corrected.replay(fixedWindow("3/m"))).toEqual({ requests: 4, denied: 1, keys: 1, deniedKeys: 1 });
    expect(corrected.peaks(fixedWindow(`${Number.MAX_SAFE_INTEGER}/m`))).toEqual([4]);
  });

  it("has the levels that the store had, from the first request on", () => {
    const time = fc.integer({ min: 0, max: 600_000 });
    const request = fc.record({
      time,
      action: fc.constantFrom("take", "take", "take", "penalize", "refund", "reset"),
      cost: fc.integer({ min: 1, max: 3 }),
    });
    const limits = [fixedWindow("5/m"), slidingWindowLog("5/m"), tokenBucket("6/m", { burst: 9 }), gcra("7/90s")];
    const limit = fc.constantFrom<Limit>(...limits);
    const times = fc.array(time, { minLength: 1, maxLength: 60 });
    fc.assert(
      fc.property(limit, fc.array(request, { minLength: 1, maxLength: 40 }), times, (limit, requests, times) => {
        const entries: RecordedRequest[] = [];
        const seen: { time: number; used: number }[] = [];
        const clock = new ManualClock(START / 1000);
        const store = new MemoryStore({ clock });
        const rule = { name: "x", limit };
        const moments = [...requests, ...times.map((time) => ({ time, action: "peek" as const, cost: 1 }))];
        for (const { time, action, cost } of moments.sort((a, b) => a.time - b.time)) {
          const at = START + time * 1000;
          clock.set(at / 1000);
          const [{ allowed, remaining }] = store.apply(action, [{ rule, key: "k", cost }]);
          if (action !== "peek") entries.push({ time: at, key: "k", action, cost, answer: { allowed, remaining } });
          else if (entries.length > 0) seen.push({ time: at, used: limit.burst - Math.floor(remaining) });
        }
        const asked = times.map((time) => START + time * 1000);
        expect(new RecordedTraffic(entries).levels(limit, asked)).toEqual(seen);
      }),
    );
  });

  it("has no levels from before the answers of the store can be reproduced", () => {
    const answered = (seconds: number, remaining: number, allowed = true): RecordedRequest =>
      take(seconds, "k", { answer: { allowed, remaining } });
    const times = [0, 15, 30, 45, 70, 75].map((seconds) => START + seconds * SECOND);
    // Another node, or an earlier process, had used two before.
    const entries = [answered(10, 0), answered(20, 0, false), answered(65, 2), answered(72, 1)];
    expect(new RecordedTraffic(entries).levels(fixedWindow("3/m"), times)).toEqual([
      { time: START + 70 * SECOND, used: 1 },
      { time: START + 75 * SECOND, used: 2 },
    ]);
    // Under another limit, and with a decision of a lease at the end.
    expect(new RecordedTraffic(entries).levels(fixedWindow("4/m"), times)).toEqual([]);
    expect(new RecordedTraffic([...entries, take(74, "k")]).levels(fixedWindow("3/m"), times)).toEqual([]);
    expect(() => traffic.levels(fixedWindow("3/m"), times)).toThrow("several keys");
  });

  it("may be empty", () => {
    const none = new RecordedTraffic([]);
    expect(none.levels(fixedWindow("1/s"), [START])).toEqual([]);
    expect(none.replay(fixedWindow("1/s"))).toEqual({ requests: 0, denied: 0, keys: 0, deniedKeys: 0 });
  });
});
