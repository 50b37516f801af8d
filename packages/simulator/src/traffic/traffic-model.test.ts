import { fixedWindow, gcra, tokenBucket } from "headgate";
import { describe, expect, it } from "vitest";
import type { RequestRules, TrafficRequest } from "../replay/traffic-request.ts";
import { keyChoice } from "./key-choice.ts";
import { modelRequests } from "./model-requests.ts";
import { cosineOfTurns, exp, ln } from "./portable-math.ts";
import { Random } from "./random.ts";
import { simulateTraffic } from "./simulate-traffic.ts";
import { type Retries, type TrafficModel, type TrafficSource, trafficSource } from "./traffic-model.ts";

const START = 1_767_225_600_000_000;
const SECOND = 1_000_000;
const HOUR_MS = 3_600_000;

function model(source: Partial<TrafficSource>, durationMs = 60_000, seed = 1): TrafficModel {
  return { seed, start: START, durationMs, sources: [trafficSource({ name: "api", ...source })] };
}

function requests(...args: Parameters<typeof model>): readonly TrafficRequest[] {
  return [...modelRequests(model(...args))];
}

const rules: RequestRules = { enforced: [{ rule: { name: "api", limit: fixedWindow("10/s") } }], shadow: [] };

describe("portable mathematics", () => {
  it("agrees with Math", () => {
    const random = new Random(1);
    const worst = { ln: 0, exp: 0, cosine: 0 };
    for (let i = 0; i < 10_000; i += 1) {
      const value = (1 - random.next()) * 10 ** random.whole(-8, 8);
      const logarithm = Math.log(value);
      worst.ln = Math.max(worst.ln, Math.abs(ln(value) - logarithm) / Math.max(1, Math.abs(logarithm)));
      const power = (random.next() - 0.5) * 100;
      worst.exp = Math.max(worst.exp, Math.abs(exp(power) / Math.exp(power) - 1));
      const turns = (random.next() - 0.5) * 10;
      worst.cosine = Math.max(worst.cosine, Math.abs(cosineOfTurns(turns) - Math.cos(2 * Math.PI * turns)));
    }
    expect(Math.max(worst.ln, worst.exp, worst.cosine)).toBeLessThan(1e-13);
    expect([ln(1), exp(0), cosineOfTurns(0), cosineOfTurns(1)]).toEqual([0, 1, 1, 1]);
  });
});

describe("a traffic model", () => {
  it.each<Partial<TrafficSource>>([
    { arrivals: { model: "steady" } },
    { arrivals: { model: "poisson" } },
    { arrivals: { model: "bursts", size: 20, spreadMs: 500 } },
    { arrivals: { model: "daily", peakHour: 12, low: 0.2 } },
  ])("has the stated rate, and times in order: $arrivals.model", (source) => {
    const durationMs = 24 * HOUR_MS;
    const all = requests({ ...source, rate: 2, keys: 50 }, durationMs);
    expect(Math.abs(all.length / ((2 * durationMs) / 1000) - 1)).toBeLessThan(0.03);
    const wrong = all.filter(({ time }, i) => {
      const isInOrder = time >= (i === 0 ? START : all[i - 1].time) && time < START + durationMs * 1000;
      return !(isInOrder && Number.isSafeInteger(time));
    });
    expect(wrong).toEqual([]);
    expect(new Set(all.map(({ key }) => key)).size).toBe(50);
  });

  it("repeats with its seed, in every engine, and differs with another", () => {
    const source = { arrivals: { model: "poisson" }, rate: 3, keys: 1_000, zipf: 1.1, mostCost: 5 } as const;
    const first = requests(source, 5_000, 42);
    expect(requests(source, 5_000, 42)).toEqual(first);
    expect(requests(source, 5_000, 43)).not.toEqual(first);
    // As computed once: another engine must get the same.
    expect(first.slice(0, 4).map(({ time, key, cost }) => [time - START, key, cost])).toMatchInlineSnapshot(`
      [
        [
          31837,
          "api-59",
          2,
        ],
        [
          154936,
          "api-10",
          2,
        ],
        [
          1599442,
          "api-2",
          4,
        ],
        [
          2366187,
          "api-1",
          1,
        ],
      ]
    `);
  });

  it("gives a source the same requests, whatever other sources there are", () => {
    const [alone, other] = [trafficSource({ name: "a" }), trafficSource({ name: "b", rate: 100 })];
    const those = [...modelRequests({ ...model({}), sources: [alone, other] })].filter(({ source }) => source === 0);
    expect(those).toEqual([...modelRequests({ ...model({}), sources: [alone] })]);
  });

  it("is busiest at the peak hour of a day, and has its lowest rate half a day later", () => {
    const arrivals = { model: "daily", peakHour: 15, low: 0.1 } as const;
    const perHour = new Array<number>(24).fill(0);
    for (const { time } of modelRequests(model({ arrivals, rate: 3 }, 24 * HOUR_MS))) {
      perHour[Math.floor((time - START) / (3_600 * SECOND))] += 1;
    }
    expect(perHour[15] / 10_800).toBeCloseTo(1.9, 1);
    expect(perHour[3] / 10_800).toBeCloseTo(0.1, 1);
  });

  it("multiplies its rate in a flash crowd", () => {
    const crowd = { atMs: 60_000, riseMs: 10_000, stayMs: 30_000, fallMs: 20_000, factor: 20 };
    const all = requests({ arrivals: { model: "flash_crowd", ...crowd }, rate: 10 }, 180_000);
    const between = (from: number, to: number): number =>
      all.filter(({ time }) => time >= START + from * SECOND && time < START + to * SECOND).length / (to - from);
    expect(between(0, 60)).toBeCloseTo(10, -1);
    expect(Math.abs(between(70, 100) / 200 - 1)).toBeLessThan(0.05);
    expect(Math.abs(between(100, 120) / 105 - 1)).toBeLessThan(0.1);
    expect(between(121, 180)).toBeLessThan(13);
  });

  it("sends bursts of one key each", () => {
    const all = requests({ arrivals: { model: "bursts", size: 5, spreadMs: 400 }, rate: 1, keys: 1_000_000 }, 600_000);
    const keys = [...new Set(all.map(({ key }) => key))];
    const bursts = keys.map((key) => all.filter((request) => request.key === key));
    const whole = bursts.filter(({ length }) => length === 5);
    expect(whole.length).toBeGreaterThan(bursts.length - 3);
    expect(whole.every((those) => those[4].time - those[0].time === 400_000)).toBe(true);
  });

  it("chooses keys by Zipf's law", () => {
    const choose = keyChoice({ keys: 1_000, zipf: 1 }, new Random(7));
    const counts = new Map<number, number>();
    for (let i = 0; i < 200_000; i += 1) {
      const key = choose();
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const count = (key: number): number => counts.get(key) ?? 0;
    expect(count(1) / count(2)).toBeCloseTo(2, 0);
    expect(count(1) / count(10)).toBeCloseTo(10, -1);
    expect(Math.min(...counts.keys())).toBe(1);
    expect(Math.max(...counts.keys())).toBeLessThanOrEqual(1_000);
  });
});

describe("simulated clients", () => {
  const retries: Retries = { strategy: "at_once", attempts: 3, delayMs: 10, factor: 2, longestMs: 1_000, jitter: 0 };
  const crowd = { arrivals: { model: "steady" }, rate: 20, keys: 1 } as const;

  it("give up at once if they do not retry", () => {
    const { clients, ...report } = simulateTraffic(model(crowd, 10_000), () => rules);
    expect(report).toMatchObject({ requests: 200, admitted: 100, denied: 100 });
    expect(clients).toEqual([
      {
        source: "api",
        requests: 200,
        attempts: 200,
        admittedAtOnce: 100,
        admittedLater: 0,
        gaveUp: 100,
        unfinished: 0,
        averageWait: 0,
        longestWait: 0,
      },
    ]);
  });

  it("add to the load when they retry at once, and are not admitted more often", () => {
    const { clients = [], admitted, requests } = simulateTraffic(model({ ...crowd, retries }, 10_000), () => rules);
    const [{ attempts, gaveUp, unfinished, admittedAtOnce, admittedLater }] = clients;
    expect({ attempts, admitted: admittedAtOnce + admittedLater }).toEqual({ attempts: requests, admitted });
    expect(attempts).toBeGreaterThan(400);
    expect(admitted).toBe(100);
    expect(gaveUp + unfinished).toBe(100);
  });

  it("are not affected by rules that never deny", () => {
    const trial: RequestRules = { ...rules, shadow: [{ rule: { name: "trial", limit: fixedWindow("1/h") } }] };
    const patient = model({ ...crowd, retries: { ...retries, strategy: "retry_after" } }, 10_000);
    const { clients } = simulateTraffic(patient, () => trial);
    expect(clients).toEqual(simulateTraffic(patient, () => rules).clients);
  });

  it("are admitted if they wait for the time in the denial", () => {
    // The bucket has room for everyone in the end.
    const bucket: RequestRules = {
      enforced: [{ rule: { name: "api", limit: gcra("10/s", { burst: 1 }) } }],
      shadow: [],
    };
    const one = {
      ...crowd,
      rate: 5,
      retries: { ...retries, strategy: "retry_after", attempts: 1, delayMs: 0 },
    } as const;
    const pairs = model({ ...one, arrivals: { model: "bursts", size: 2, spreadMs: 0 }, keys: 1_000_000 }, 60_000);
    const { clients = [] } = simulateTraffic(pairs, () => bucket);
    const [{ requests, admittedAtOnce, admittedLater, gaveUp, averageWait, longestWait }] = clients;
    expect(admittedAtOnce + admittedLater + gaveUp).toBeGreaterThan(requests - 3);
    expect({ gaveUp, averageWait, longestWait }).toEqual({ gaveUp: 0, averageWait: 100_000, longestWait: 100_000 });
    expect(Math.abs(admittedLater - admittedAtOnce)).toBeLessThan(3);
  });

  it("wait longer each time with backoff", () => {
    const times: number[] = [];
    const never: RequestRules = { enforced: [{ rule: { name: "api", limit: tokenBucket("1/d") } }], shadow: [] };
    const backoff = { ...retries, strategy: "backoff", attempts: 5, delayMs: 100, longestMs: 500 } as const;
    const traffic = model({ arrivals: { model: "steady" }, rate: 0.5, keys: 1, retries: backoff }, 4_000);
    simulateTraffic(traffic, () => never, { onReplayed: (time) => times.push((time - START) / 1000) });
    // The first request is admitted; the second, after two seconds, is not.
    expect(times).toEqual([0, 2_000, 2_100, 2_300, 2_700, 3_200, 3_700]);
  });

  it("stop retrying what can never be admitted", () => {
    const patient = { ...retries, strategy: "retry_after" } as const;
    const traffic = model({ ...crowd, leastCost: 11, mostCost: 11, retries: patient }, 10_000);
    expect(simulateTraffic(traffic, () => rules).clients).toMatchObject([{ attempts: 200, gaveUp: 200 }]);
  });
});
