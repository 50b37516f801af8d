import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rateAlgorithms } from "../../../src/algorithms/lookup.ts";
import { type Answered, Asker, type Report } from "./asker.ts";
import { kinds, LONG } from "./kinds.ts";
import { useRedis } from "./redis.ts";

const PROCESSES = 4;
const SECOND = 1_000_000;

const redis = useRedis();
const askers: Asker[] = [];

beforeAll(async () => {
  askers.push(...(await Promise.all(Array.from({ length: PROCESSES }, () => Asker.start(redis.server.url)))));
});
afterAll(() => {
  for (const asker of askers) asker.stop();
});

/** All processes take from one key of each kind for two seconds; what each reported, by kind. */
async function hammered(limit: number, window: number): Promise<Map<string, Report[]>> {
  const prefix = redis.newPrefix();
  // A busy machine may not get to more than the limit in two seconds.
  const atLeast = Math.ceil((2 * limit) / PROCESSES);
  const tasks = kinds.map(({ name, spec }) => ({ name, spec: spec(limit, window), forMs: 2_000, atLeast }));
  const reports = await Promise.all(askers.map((asker) => asker.ask(prefix, tasks)));
  return new Map(kinds.map(({ name }, i) => [name, reports.map((of) => of[i])]));
}

it("every algorithm is among them", () => {
  for (const { name } of rateAlgorithms) expect(kinds.map((kind) => kind.name.split(/[ ,]/)[0])).toContain(name);
});

describe("four processes that hammer one key, in a window that does not end", () => {
  const LIMIT = 500;
  let told: Map<string, Report[]>;
  beforeAll(async () => {
    told = await hammered(LIMIT, LONG);
  });

  it.each(kinds)("are admitted exactly as often as the limit says, all together: $name", ({ name }) => {
    const reports = told.get(name) ?? [];
    expect(sum(reports.map(({ asked }) => asked))).toBeGreaterThan(LIMIT);
    expect(sum(reports.map(({ answered }) => answered.length))).toBe(LIMIT);
    // Each got what the one before it had left.
    const left = reports.flatMap(({ answered }) => answered.map(({ remaining }) => Math.round(remaining)));
    expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: LIMIT }, (_, i) => i));
  });
});

describe("four processes that ask for the first of several limits with room", () => {
  const [PLAN, CREDITS, REQUESTS] = [150, 90, 80];

  it.each(kinds)("use up the first exactly, then the second exactly: $name", async ({ spec }) => {
    const prefix = redis.newPrefix();
    const alternatives = [spec(PLAN, LONG), spec(CREDITS, LONG)];
    const chosen = await Promise.all(askers.map((asker) => asker.chooseFirst(prefix, alternatives, REQUESTS)));
    const count = (which: number): number => chosen.flat().filter((each) => each === which).length;
    expect([count(0), count(1), count(-1)]).toEqual([PLAN, CREDITS, PROCESSES * REQUESTS - PLAN - CREDITS]);
  });
});

describe("four processes that hammer one key while it fills again", () => {
  const LIMIT = 50;
  const WINDOW = SECOND / 2;
  const windows = (span: number, length = WINDOW): number => Math.floor(span / length) + 1;
  const metered = (span: number): number => Math.floor(LIMIT + (LIMIT * span) / WINDOW);
  const exact = (span: number): number => LIMIT * windows(span);
  const twice = (span: number): number => LIMIT * (windows(span) + 1);
  const bucketed = (span: number): number => LIMIT * windows(span, WINDOW - WINDOW / 5);
  /** The most that may pass in a span of this many microseconds, both ends included. */
  const most: Readonly<Record<string, (span: number) => number>> = {
    ...Object.fromEntries(rateAlgorithms.map(({ name, traits }) => [name, traits.burst ? metered : exact])),
    fixed_window: twice,
    "fixed_window by the request": twice,
    sliding_window_counter: (span) => 2 * LIMIT * windows(span),
    bucketed_window: bucketed,
    "bucketed_window of 5": bucketed,
    "bucketed_window, exact": exact,
  };
  let told: Map<string, Report[]>;
  beforeAll(async () => {
    told = await hammered(LIMIT, WINDOW / SECOND);
  });

  it.each(kinds)("are never admitted more often than its bound, over any span: $name", ({ name }) => {
    const admitted = (told.get(name) ?? []).flatMap(({ answered }) => answered);
    expectBound(admitted, most[name]);
    // It did fill again.
    expect(admitted.length).toBeGreaterThanOrEqual(2 * LIMIT);
  });

  it("would be found out if one more had passed", () => {
    const admitted = (told.get("sliding_window_log") ?? []).flatMap(({ answered }) => answered);
    const [first] = admitted;
    expect(() => expectBound([...admitted, ...new Array<Answered>(LIMIT).fill(first)], exact)).toThrow();
  });
});

/** A request that was sent after a span began, and answered before it ended, was decided in it. */
function expectBound(admitted: readonly Answered[], mostIn: (span: number) => number): void {
  const byEnd = [...admitted].sort((a, b) => a.received - b.received);
  for (const { sent: from } of admitted) {
    let passed = 0;
    for (const { sent, received: to } of byEnd) {
      if (sent < from) continue;
      passed += 1;
      if (passed > mostIn(to - from)) expect.fail(`${passed} passed within ${to - from} µs`);
    }
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
