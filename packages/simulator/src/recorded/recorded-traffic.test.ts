import { fixedWindow, slidingWindowLog, tokenBucket } from "headgate";
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

  it("may be empty", () => {
    const none = new RecordedTraffic([]);
    expect(none.replay(fixedWindow("1/s"))).toEqual({ requests: 0, denied: 0, keys: 0, deniedKeys: 0 });
  });
});
