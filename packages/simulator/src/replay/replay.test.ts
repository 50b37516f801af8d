import fc from "fast-check";
import {
  fixedWindow,
  gcra,
  type Limit,
  leakyBucket,
  limitFromSpec,
  rateLimiter,
  slidingWindow,
  slidingWindowLog,
  tokenBucket,
} from "headgate";
import { ManualClock } from "headgate/testing";
import { describe, expect, it } from "vitest";
import { reportText } from "../report/report-text.ts";
import { replay } from "./replay.ts";
import type { RequestRules, TrafficRequest } from "./traffic-request.ts";

const SECOND = 1_000_000;
const START = 1_767_225_600 * SECOND;

function request(seconds: number, key: string, cost = 1, path = "/"): TrafficRequest {
  return { time: START + Math.round(seconds * SECOND), key, path, method: "GET", cost };
}

function enforcing(...limits: readonly Limit[]): () => RequestRules {
  const rules = { enforced: limits.map((limit, i) => ({ rule: { name: `rule ${i}`, limit } })), shadow: [] };
  return () => rules;
}

const limits = fc.constantFrom(
  tokenBucket("3/s"),
  tokenBucket("7/3s", { burst: 2 }),
  gcra("5/s", { burst: 4 }),
  leakyBucket("4/s"),
  fixedWindow("5/2s"),
  slidingWindow("6/2s"),
  slidingWindowLog("4/s"),
  limitFromSpec({ algorithm: "bucketed_window", limit: 5, window: 2 }),
);

const traffic = fc
  .array(
    fc.record({
      seconds: fc.double({ min: 0, max: 20, noNaN: true }),
      key: fc.constantFrom("a", "b", "c"),
      cost: fc.integer({ min: 0, max: 6 }),
    }),
    { maxLength: 150 },
  )
  .map((all) => all.map(({ seconds, key, cost }) => request(seconds, key, cost)).sort((a, b) => a.time - b.time));

describe("a replay", () => {
  it("decides what a limiter decides at the same times", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(limits, { minLength: 1, maxLength: 3 }), traffic, async (limits, requests) => {
        const clock = new ManualClock();
        const rules = Object.fromEntries(limits.map((limit, i) => [`rule ${i}`, limit]));
        const limiter = rateLimiter(rules, { clock });
        const expected = requests.map(({ time, key, cost }) => {
          clock.set(time / 1000);
          const checks = limits.map((_, i) => ({ rule: `rule ${i}`, key, cost }));
          const { allowed, decisions } = limiter.checkAllSync(checks);
          return [time, key, allowed, decisions.map(({ allowed, retryAfterMs }) => [allowed, retryAfterMs])];
        });
        const decided: unknown[] = [];
        const report = await replay(requests, enforcing(...limits), {
          onReplayed: (time, key, allowed, answers) => {
            decided.push([time, key, allowed, answers.map(({ allowed, retryAfter }) => [allowed, retryAfter / 1000])]);
          },
        });
        expect(decided).toEqual(expected);
        expect(report.admitted).toBe(expected.filter(([, , allowed]) => allowed).length);
      }),
    );
  });

  it("does not depend on the order of lines within the allowed lateness", async () => {
    await fc.assert(
      fc.asyncProperty(
        limits,
        traffic,
        fc.infiniteStream(fc.double({ min: 0, max: 2, noNaN: true })),
        async (limit, requests, delays) => {
          const shuffled = requests
            .map((request, i) => ({ request, i, seen: request.time + [...delays.take(1)][0] * SECOND }))
            .sort((a, b) => a.seen - b.seen || a.i - b.i)
            .map(({ request }) => request);
          // Requests of the same time and key may differ in cost, and then their order matters.
          const distinct = new Set(requests.map(({ time }) => time)).size === requests.length;
          fc.pre(distinct);
          expect(await replay(shuffled, enforcing(limit), { latenessMs: 2_000 })).toEqual(
            await replay(requests, enforcing(limit)),
          );
        },
      ),
    );
  });

  it("counts as a plain model of a fixed window does", async () => {
    const [limit, window] = [4, 10 * SECOND];
    await fc.assert(
      fc.asyncProperty(traffic, async (all) => {
        const requests = all.filter(({ cost }) => cost === 1);
        fc.pre(requests.length > 0);
        const model = modelOf(requests, limit, window);
        const report = await replay(requests, enforcing(fixedWindow("4/10s")), { top: 100 });
        expect(report).toMatchObject({ requests: requests.length, ...model.totals });
        const [rule] = report.rules;
        expect(rule).toMatchObject({ rule: "rule 0", mode: "enforce", requests: requests.length, ...model.totals });
        expect(rule.hitFirst).toEqual(model.hitFirst);
        expect(rule.worstMinute).toEqual(model.worstMinute);
        expect(report.worstMinute).toEqual(model.worstMinute);
        expect([...rule.topDenied].sort((a, b) => (a.key < b.key ? -1 : 1))).toEqual(model.keys);
        expect(rule.peakUsage).toEqual(model.peakUsage);
        expect(sum(report.series.admitted)).toBe(model.totals.admitted);
        expect(sum(report.series.denied)).toBe(model.totals.denied);
      }),
    );
  });
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/** Everything that is reported, by counting in the most direct way. Requests cost 1. */
function modelOf(requests: readonly TrafficRequest[], limit: number, window: number) {
  const end = requests[requests.length - 1].time;
  const used = new Map<string, number>();
  const decided = requests.map(({ time, key }) => {
    const place = `${key} ${Math.floor(time / window)}`;
    const count = used.get(place) ?? 0;
    if (count < limit) used.set(place, count + 1);
    return { time, key, allowed: count < limit, minute: Math.floor(time / (60 * SECOND)) };
  });
  const denied = decided.filter(({ allowed }) => !allowed);
  const deniedKeys = [...new Set(denied.map(({ key }) => key))];
  const minutes = [...new Set(decided.map(({ minute }) => minute))].map((minute) => ({
    time: minute * 60 * SECOND,
    requests: decided.filter((each) => each.minute === minute).length,
    denied: denied.filter((each) => each.minute === minute).length,
  }));
  const worst = Math.max(...minutes.map(({ denied }) => denied));
  const peaks = [...new Set(requests.map(({ key }) => key))]
    .filter((key) => !deniedKeys.includes(key))
    .map((key) => Math.max(...[...used].filter(([place]) => place.startsWith(`${key} `)).map(([, count]) => count)));
  return {
    totals: { admitted: decided.length - denied.length, denied: denied.length, deniedKeys: deniedKeys.length },
    hitFirst: deniedKeys.map((key) => ({ key, time: denied.find((each) => each.key === key)?.time })),
    worstMinute: worst === 0 ? undefined : minutes.find(({ denied }) => denied === worst),
    keys: deniedKeys.sort().map((key) => {
      const own = denied.filter((each) => each.key === key);
      const all = decided.filter((each) => each.key === key);
      // From the first denial in a window to its end, or to the end of the traffic.
      const windows = new Map(own.toReversed().map(({ time }) => [Math.floor(time / window), time]));
      const outs = [...windows].map(([index, time]) => Math.min((index + 1) * window, end) - time);
      const [{ time: firstDeniedAt }] = own;
      return {
        key,
        requests: all.length,
        admitted: all.length - own.length,
        denied: own.length,
        firstDeniedAt,
        shutOut: sum(outs),
      };
    }),
    peakUsage: Array.from(
      { length: 10 },
      (_, i) => peaks.filter((peak) => Math.ceil((10 * peak) / limit) === i + 1).length,
    ),
  };
}

describe("the report of a replay", () => {
  it("has nothing without requests", async () => {
    const report = await replay([], enforcing(fixedWindow("1/s")));
    expect(report).toMatchObject({ from: undefined, to: undefined, requests: 0, keys: 0, rules: [] });
  });

  it("has the time a key was shut out: until the request would pass, or another one does", async () => {
    const requests = [
      request(0, "a", 4),
      request(1, "a", 3),
      request(1.5, "a", 1),
      request(10, "a", 9),
      request(12, "a", 1),
    ];
    const [rule] = (await replay(requests, enforcing(tokenBucket("1/s", { burst: 4 })))).rules;
    // One second in, 3 units would take 2 more seconds; after 0.5 of them, 1 unit passes. 9 units never pass.
    expect(rule.topDenied).toMatchObject([{ key: "a", denied: 2, shutOut: 0.5 * SECOND + 2 * SECOND }]);
  });

  it("charges shadow rules only with what the enforced rules admit, and denies nothing by them", async () => {
    const rules: RequestRules = {
      enforced: [{ rule: { name: "enforced", limit: fixedWindow("3/m") } }],
      shadow: [{ rule: { name: "shadow", limit: fixedWindow("2/m") } }],
    };
    const report = await replay(
      [0, 1, 2, 3, 4].map((seconds) => request(seconds, "a")),
      () => rules,
    );
    expect(report).toMatchObject({ admitted: 3, denied: 2 });
    expect(report.rules).toMatchObject([
      { rule: "enforced", mode: "enforce", admitted: 3, denied: 2 },
      { rule: "shadow", mode: "shadow", admitted: 2, denied: 3 },
    ]);
  });

  it("counts a rule, its candidate, and the keys for which it is in shadow separately", async () => {
    const limit = fixedWindow("3/m");
    const rule = { name: "api", limit };
    const candidate = {
      rule: { name: "api", counter: "candidate", limit: fixedWindow("1/m") },
      isCandidate: true,
    } as const;
    const enforced: RequestRules = { enforced: [{ rule }], shadow: [candidate] };
    const inShadow: RequestRules = { enforced: [], shadow: [{ rule }] };
    const requests = [0, 1, 2, 3].flatMap((seconds) => [request(seconds, "a"), request(seconds, "b")]);
    const report = await replay(requests, ({ key }) => (key === "a" ? enforced : inShadow));
    expect(report).toMatchObject({ admitted: 7, denied: 1 });
    expect(report.rules).toMatchObject([
      { rule: "api", mode: "enforce", requests: 4, denied: 1, keys: 1 },
      { rule: "api", mode: "candidate", requests: 4, denied: 3, keys: 1 },
      { rule: "api", mode: "shadow", requests: 4, denied: 1, keys: 1 },
    ]);
    const text = reportText(report, { rules: "x" });
    for (const row of [/^ {2}api {2}/m, /^ {2}api \(candidate\) {2}/m, /^ {2}api \(shadow\) {2}/m])
      expect(text).toMatch(row);
  });

  it("uses the limit of the request in place of the rule's", async () => {
    const rule = { name: "api", limit: fixedWindow("1/m") };
    const own: RequestRules = { enforced: [{ rule, limit: fixedWindow("3/m") }], shadow: [] };
    const others: RequestRules = { enforced: [{ rule }], shadow: [] };
    const requests = [0, 1, 2, 3].flatMap((seconds) => [request(seconds, "vip"), request(seconds, "other")]);
    const report = await replay(requests, ({ key }) => (key === "vip" ? own : others));
    expect(report.rules[0].topDenied).toMatchObject([
      { key: "other", denied: 3 },
      { key: "vip", denied: 1 },
    ]);
  });

  it("reports how many requests no rule applies to", async () => {
    const report = await replay([request(0, "a"), request(0, "b")], () => ({ enforced: [], shadow: [] }));
    expect(report).toMatchObject({ requests: 2, admitted: 2, unlimited: 2, rules: [] });
  });

  it("compares two sets of rules", async () => {
    const requests = [0, 1, 2, 3].map((seconds) => request(seconds, "a")).concat(request(4, "b"));
    const report = await replay(requests, enforcing(fixedWindow("3/m")), { against: enforcing(fixedWindow("1/m")) });
    expect(report).toMatchObject({ denied: 1, against: { denied: 3, deniedKeys: 1 } });
    expect(report.changes).toEqual({ newlyDenied: 2, newlyDeniedKeys: 1, newlyAdmitted: 0, newlyAdmittedKeys: 0 });
    const reverse = await replay(requests, enforcing(fixedWindow("1/m")), { against: enforcing(fixedWindow("3/m")) });
    expect(reverse.changes).toEqual({ newlyDenied: 0, newlyDeniedKeys: 0, newlyAdmitted: 2, newlyAdmittedKeys: 1 });
  });

  it("counts requests that are too late, and decides them at the latest time", async () => {
    const requests = [request(0, "a"), request(20, "a"), request(1, "a"), request(21, "a")];
    const times: number[] = [];
    const report = await replay(requests, enforcing(fixedWindow("9/m")), {
      latenessMs: 5_000,
      onReplayed: (time) => times.push((time - START) / SECOND),
    });
    expect(report.late).toBe(0);
    expect(times).toEqual([0, 1, 20, 21]);
    times.length = 0;
    const strict = await replay(requests, enforcing(fixedWindow("9/m")), {
      onReplayed: (time) => times.push((time - START) / SECOND),
    });
    expect(strict.late).toBe(1);
    expect(times).toEqual([0, 20, 20, 21]);
  });

  it("keeps all requests when more of them are held than there is room for", async () => {
    const requests = Array.from({ length: 40_000 }, (_, i) =>
      request((i % 2 === 0 ? i : i - 1) / 40_000, `key ${i % 7}`),
    );
    let last = 0;
    const report = await replay(requests, enforcing(fixedWindow("9/m")), {
      latenessMs: 5_000,
      onReplayed: (time) => {
        expect(time).toBeGreaterThanOrEqual(last);
        last = time;
      },
    });
    expect(report).toMatchObject({ requests: 40_000, keys: 7, late: 0 });
  });

  it("has a series whose buckets widen with the time that passes", async () => {
    const hours = Array.from({ length: 100 }, (_, i) => request(i * 3_600, "a"));
    const { series } = await replay(hours, enforcing(fixedWindow("1/d")));
    expect(series.width).toBe(900 * SECOND);
    expect(series.start).toBe(START);
    expect(series.admitted).toHaveLength(99 * 4 + 1);
    expect([sum(series.admitted), sum(series.denied)]).toEqual([5, 95]);
  });
});
