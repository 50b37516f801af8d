import { describe, expect, it } from "vitest";
import { operation, TODAY_MS, ten } from "../../../test/wrappers/resilient/context.ts";
import type { Answer, Operation } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import { KnownKeys } from "./known-keys.ts";

const SECOND = 1_000_000;
const allowed: Answer = {
  time: TODAY_MS * 1_000,
  allowed: true,
  remaining: 9,
  retryAfter: 0,
  resetAfter: SECOND,
  source: "store",
  degraded: false,
};
const denied: Answer = { ...allowed, allowed: false, remaining: 0, retryAfter: SECOND };

function setUp(maxKeys: number) {
  const clock = new ManualClock(TODAY_MS);
  const known = new KnownKeys(maxKeys, clock);
  return {
    known,
    clock,
    learn: (key: string, answer: Answer) => known.learn(operation(ten, key), 1, answer, clock.now(), false),
    isDenied: (key: string) => known.denial(operation(ten, key), 1, clock.now()) !== undefined,
  };
}

function keys(count: number, prefix = "k"): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

describe("what is known of keys", () => {
  it("covers a bounded number of keys, however many there are", () => {
    const { known, learn } = setUp(1_000);
    for (const key of keys(1_000_000)) learn(key, allowed);
    expect(known.size).toBe(1_000);
  });

  it("does not contain the keys themselves: a long key takes no more memory", () => {
    const { known, learn, isDenied } = setUp(10);
    const long = "x".repeat(1_000_000);
    learn(long, denied);
    expect(isDenied(long)).toBe(true);
    expect(isDenied(`${long}x`)).toBe(false);
    expect(JSON.stringify(Object.values(known)).length).toBeLessThan(100_000);
  });

  it("keeps the denied ones when others come in masses", () => {
    const { learn, isDenied } = setUp(1_000);
    const limited = keys(900, "limited");
    for (const key of limited) learn(key, denied);
    for (const key of keys(100_000)) learn(key, allowed);
    expect(limited.filter(isDenied)).toHaveLength(900);
  });

  it("takes in a denial even if all it knows are denied", () => {
    const { known, learn, isDenied } = setUp(100);
    for (const key of keys(100)) learn(key, denied);
    learn("another", allowed);
    expect(keys(100).filter(isDenied)).toHaveLength(100);
    learn("latest", denied);
    expect(isDenied("latest")).toBe(true);
    expect(keys(100).filter(isDenied)).toHaveLength(99);
    expect(known.size).toBe(100);
  });

  it("makes room by dropping denials that are over", async () => {
    // All rows of a table this small are looked at to find one that may go.
    const { clock, learn, isDenied } = setUp(60);
    for (const key of keys(60)) learn(key, denied);
    await clock.advance(1_000);
    const later = keys(60, "later");
    for (const key of later) learn(key, denied);
    expect(later.filter(isDenied)).toHaveLength(60);
  });

  it("finds every key again while its table grows", () => {
    const { known, clock } = setUp(5_000);
    const of = (i: number): Operation => operation({ name: `rule ${i % 7}`, limit: ten.limit }, `k${i}`);
    for (let i = 0; i < 5_000; i += 1) known.learn(of(i), 1, { ...allowed, remaining: i }, clock.now(), false);
    for (let i = 0; i < 5_000; i += 1) expect(known.takeReport(of(i), clock.now())?.remaining).toBe(i);
    for (let i = 0; i < 5_000; i += 1) expect(known.takeReport(of(i), clock.now())).toBeUndefined();
  });
});
