import { afterEach, describe, expect, it, vi } from "vitest";
import { fixedWindow, type Rule } from "../../../src/index.ts";
import { Calendar, calendarOf, type WindowBoundaries } from "../../../src/limits/calendar.ts";
import { TimeZone } from "../../../src/limits/time-zone.ts";
import { ManualClock } from "../../../src/testing/index.ts";
import { ask, operation } from "../conformance/context.ts";
import { useRedis } from "./redis.ts";

const redis = useRedis();
const DAY_MS = 86_400_000;
const month = calendarOf("month", "Europe/Berlin");
const quota: Rule = { name: "quota", limit: fixedWindow("10/month", { timeZone: "Europe/Berlin" }) };

afterEach(() => {
  vi.restoreAllMocks();
});

/** Commands that Redis has executed. */
async function calls(): Promise<number> {
  const [, count] = /evalsha:calls=(\d+)/.exec(await redis.client.info("commandstats")) ?? [];
  return Number(count ?? 0);
}

describe("a process whose clock is wrong by more than a month", () => {
  it.each([
    ["one check", 1],
    ["a batch", 5],
  ])("sends the windows again that the server's time is in: %s", async (_, count) => {
    const real = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => real() + 400 * DAY_MS);
    const store = redis.store();
    const first = await Promise.all(Array.from({ length: count }, () => ask(store, "take", quota, "k")));
    for (const { time, allowed, resetAfter } of first) {
      expect(Math.abs(time / 1000 - real())).toBeLessThan(DAY_MS);
      expect(allowed).toBe(true);
      expect(time + resetAfter).toBe(month.windowAt(time).end);
    }
    // Each was charged once, and the server's time is known from now on.
    const before = await calls();
    expect(await ask(store, "peek", quota, "k", 0)).toMatchObject({ remaining: 10 - count });
    expect((await calls()) - before).toBe(1);
  });

  it("charges a request of several limits, with an idempotency key, once", async () => {
    const real = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => real() + 400 * DAY_MS);
    const store = redis.store();
    const minute: Rule = { name: "minute", limit: fixedWindow("10/h") };
    const both = [operation(minute, "k", 2), operation(quota, "k", 3)];
    const answers = await store.apply("take", both, { idempotencyKey: "once" });
    expect(answers.map(({ allowed }) => allowed)).toEqual([true, true]);
    expect(await store.apply("take", both, { idempotencyKey: "once" })).toEqual(answers);
    const left = await store.apply("peek", [operation(minute, "k", 0), operation(quota, "k", 0)]);
    expect(left.map(({ remaining }) => remaining)).toEqual([8, 7]);
  });
});

describe("a caller with other time-zone data", () => {
  it("counts in the stored window until it ends", async () => {
    const clock = new ManualClock(Date.parse("2026-10-31T22:59:59Z"));
    const store = redis.store({ clock });
    await ask(store, "take", quota, "k", 8);
    const early: Rule = { name: "quota", limit: Object.freeze({ ...quota.limit, calendar: new AnHourEarly() }) };
    expect(await ask(store, "take", early, "k", 3)).toMatchObject({ allowed: false, retryAfter: 1_000_000 });
    await clock.advance(1_000);
    expect(await ask(store, "take", early, "k", 3)).toMatchObject({ allowed: true, remaining: 7 });
    clock.set(Date.parse("2026-11-30T21:59:59Z"));
    expect(await ask(store, "take", quota, "k", 8)).toMatchObject({ allowed: false, retryAfter: 1_000_000 });
    await clock.advance(1_000);
    expect(await ask(store, "take", quota, "k", 10)).toMatchObject({ allowed: true, resetAfter: 3_600_000_000 });
  });
});

class AnHourEarly extends Calendar {
  constructor() {
    super("month", TimeZone.named("Europe/Berlin"), 1);
  }

  override boundariesAround(time: number): WindowBoundaries {
    const [first, second, third, last] = super.boundariesAround(time + HOUR);
    return [first - HOUR, second - HOUR, third - HOUR, last - HOUR];
  }
}
const HOUR = 3_600_000_000;
