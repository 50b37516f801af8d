import { type Clock, MemoryStore } from "headgate";
import { describe, expect, it } from "vitest";
import { CallLimits } from "../../checks/call-limits.ts";
import { redisCell, type ThrottleDialect, throttlecrab } from "./throttle-dialect.ts";

const SECOND = 1_000_000_000n;
const MS = 1_000_000n;
const US = 1_000n;

interface Call {
  readonly key: string;
  readonly maxBurst: number;
  readonly count: number;
  readonly period: number;
  readonly quantity: number;
}

/** The same numbers every time. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % below;
  };
}

/** Answers calls as the transport does, at times in microseconds. */
function headgate(dialect: ThrottleDialect) {
  let now = 0;
  const clock: Clock = { now: () => now, sleep: async () => {} };
  const memory = new MemoryStore({ clock });
  const stores = { strict: memory, cached: memory, leased: memory, split: memory };
  const limits = new CallLimits({ stores, consistency: "strict", onError: "local" });
  const rule = limits.ruleOf("test");
  return (time: number, { key, maxBurst, count, period, quantity }: Call): readonly number[] => {
    now = time;
    const limit = dialect.limit(maxBurst, count, period);
    const answer = limits.take(rule, key, limit.limit, quantity);
    if ("then" in answer) throw new Error("memory answers at once");
    return integersIn(dialect.reply(limit, answer, quantity));
  };
}

function integersIn(reply: string): readonly number[] {
  expect(reply).toMatch(/^\*5\r\n(:-?\d+\r\n){5}$/);
  return [...reply.matchAll(/:(-?\d+)/g)].map(([, digits]) => Number(digits));
}

/** redis-cell 0.5.0 as its source describes it: theoretical arrival times in whole nanoseconds. */
class RedisCellModel {
  private readonly arrivals = new Map<string, bigint>();

  throttle(timeUs: number, { key, maxBurst, count, period, quantity }: Call): readonly number[] {
    const now = BigInt(timeUs) * US;
    const interval = BigInt(Math.trunc((period * 1e9) / count));
    const limit = BigInt(maxBurst + 1);
    const tolerance = interval * limit;
    const increment = interval * BigInt(quantity);
    const stored = this.arrivals.get(key) ?? now;
    const arrival = (now > stored ? now : stored) + increment;
    const room = now - (arrival - tolerance);
    const isLimited = room < 0n;
    let retry = -SECOND;
    let left = arrival - now;
    if (isLimited) {
      if (increment <= tolerance) retry = -room;
      // A key that has expired is gone.
      left = stored > now ? stored - now : 0n;
    } else {
      this.arrivals.set(key, arrival);
    }
    const next = tolerance - left;
    const remaining = next > -interval ? Math.trunc(Number(next / US) / Number(interval / US)) : 0;
    return [isLimited ? 1 : 0, Number(limit), remaining, seconds(retry), seconds(left)];
  }
}

/** Rounded up if there are whole milliseconds besides the seconds. */
function seconds(nanoseconds: bigint): number {
  return Number(nanoseconds / SECOND) + ((nanoseconds % SECOND) / MS > 0n ? 1 : 0);
}

/** throttlecrab 0.4.40 as its source describes it. */
class ThrottlecrabModel {
  private readonly arrivals = new Map<string, bigint>();

  throttle(timeUs: number, { key, maxBurst, count, period, quantity }: Call): readonly number[] {
    const now = BigInt(timeUs) * US;
    const interval = BigInt(Math.trunc((period * 1e9) / count));
    const tolerance = interval * BigInt(maxBurst - 1);
    const stored = this.arrivals.get(key);
    const arrival = stored === undefined ? now - interval : larger(stored, now - tolerance);
    const next = arrival + interval * BigInt(quantity);
    const allowAt = next - tolerance;
    const isAllowed = now >= allowAt;
    if (isAllowed) this.arrivals.set(key, next);
    const current = isAllowed ? next : arrival;
    const remaining = larger((now + tolerance - current) / interval, 0n);
    const reset = larger(current - now + tolerance, 0n) / SECOND;
    const retry = isAllowed ? 0n : larger(allowAt - now, 0n) / SECOND;
    return [isAllowed ? 1 : 0, maxBurst, Number(remaining), Number(reset), Number(retry)];
  }
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

const LIMITS: readonly (readonly [maxBurst: number, count: number, period: number])[] = [
  [15, 30, 60],
  [0, 1, 1],
  [4, 1, 1],
  [2, 3, 1],
  [9, 7, 60],
  [99, 7_000, 1],
  [1_000, 999_983, 60],
  [5, 1, 86_400],
  [20, 1_000_000, 3_600],
  [3, 11, 13],
];

describe("CL.THROTTLE", () => {
  it("answers as redis-cell does, in 100,000 random calls", () => {
    const random = randomNumbers(20_261_117);
    const model = new RedisCellModel();
    const throttle = headgate(redisCell);
    let time = 1_790_000_000_000_000;
    let limited = 0;
    for (let i = 0; i < 100_000; i += 1) {
      const at = random(LIMITS.length);
      const [maxBurst, count, period] = LIMITS[at];
      const call = { key: `${at}-${random(3)}`, maxBurst, count, period, quantity: random(8) === 0 ? random(12) : 1 };
      const interval = Math.ceil((period * 1e6) / count);
      time += random(4) === 0 ? random(interval) : random(50);
      const expected = model.throttle(time, call);
      limited += expected[0];
      const answered = throttle(time, call);
      // Compared by text first: a comparison by vitest takes longer than the call.
      if (`${answered}` !== `${expected}`) expect({ i, call, answered }).toEqual({ i, call, answered: expected });
    }
    // Both kinds of answers, often.
    expect(limited).toBeGreaterThan(10_000);
    expect(limited).toBeLessThan(90_000);
  });

  it("rounds as the latest release does: up, but only from a millisecond on", () => {
    const throttle = headgate(redisCell);
    const call = { key: "k", maxBurst: 4, count: 1, period: 2, quantity: 1 };
    expect(throttle(0, call)).toEqual([0, 5, 4, -1, 2]);
    expect(throttle(1_000_000, call)).toEqual([0, 5, 3, -1, 3]);
    expect(throttle(1_999_500, call)).toEqual([0, 5, 2, -1, 4]);
    expect(throttle(2_998_000, call)).toEqual([0, 5, 2, -1, 6]);
  });

  it("keeps what was used when the limit changes", () => {
    const throttle = headgate(redisCell);
    const call = { key: "k", count: 1, period: 60, quantity: 1 };
    for (let i = 0; i < 3; i += 1) expect(throttle(0, { ...call, maxBurst: 4 })[0]).toBe(0);
    expect(throttle(0, { ...call, maxBurst: 2 })).toEqual([1, 3, 0, 60, 180]);
    expect(throttle(0, { ...call, maxBurst: 1 })).toEqual([1, 2, 0, 120, 180]);
    expect(throttle(0, { ...call, maxBurst: 9, count: 2 })).toEqual([0, 10, 6, -1, 120]);
  });
});

describe("THROTTLE", () => {
  it("answers as throttlecrab does while a key is in use", () => {
    const random = randomNumbers(7);
    const throttle = headgate(throttlecrab);
    let model = new ThrottlecrabModel();
    let time = 1_790_000_000_000_000;
    for (let i = 0; i < 20_000; i += 1) {
      const [maxBurst, count, period] = LIMITS[random(LIMITS.length)];
      const call = { key: `${i}`, maxBurst: maxBurst + 1, count, period, quantity: 1 };
      // A key that has not been used up would collect up to twice its burst there.
      time += random(1_000_000);
      model = new ThrottlecrabModel();
      for (let n = 0; n < 4; n += 1) {
        const more = { ...call, quantity: 1 + random(maxBurst + 2) };
        const expected = model.throttle(time, more);
        const answered = throttle(time, more);
        if (`${answered}` !== `${expected}`) expect({ i, more, answered }).toEqual({ i, more, answered: expected });
      }
    }
  });

  it("admits no more than the burst after a pause, unlike throttlecrab", () => {
    const throttle = headgate(throttlecrab);
    const model = new ThrottlecrabModel();
    const call = { key: "k", maxBurst: 10, count: 1, period: 1, quantity: 1 };
    throttle(0, call);
    model.throttle(0, call);
    const count = (answer: (time: number, call: Call) => readonly number[]): number =>
      Array.from({ length: 20 }, () => answer(9_000_000, call)[0]).reduce((sum, allowed) => sum + allowed, 0);
    expect(count((time, call) => model.throttle(time, call))).toBe(18);
    expect(count(throttle)).toBe(10);
  });
});
