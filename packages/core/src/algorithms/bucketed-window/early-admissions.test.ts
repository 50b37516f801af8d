import { documented, percent, tableRows } from "headgate-testkit/docs-pages";
import { describe, expect, it } from "vitest";
import { poisson } from "../../../test/algorithms/poisson.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { bucketedWindow } from "../../algorithms/registry.ts";

const WINDOW = 1_000_000;
const REQUESTS = 300_000;

interface Measured {
  /** Of the admissions, the share that exact mode would have refused after the same admissions. */
  readonly early: number;
  /** By how much more was admitted than exact mode admits of the same traffic. */
  readonly extra: number;
  /** How much too early the earliest came, in microseconds. */
  readonly earliest: number;
}

/** Random traffic at `load` times the limit, for one key with a window of a second. */
function measure(limit: number, load: number, bucketWidthMs: number): Measured {
  const rate = { limit, windowMs: WINDOW / 1_000 };
  const row = new Row(bucketedWindow(rate, { bucketWidthMs }));
  const exact = new Row(bucketedWindow(rate, { exact: true }));
  const admissions: number[] = [];
  let [admittedExactly, early, earliest] = [0, 0, 0];
  for (const now of poisson(WINDOW / limit / load, REQUESTS, 1_000 * limit + load)) {
    if (exact.take(now, 1).allowed) admittedExactly += 1;
    if (!row.take(now, 1).allowed) continue;
    // Exact mode would wait until the one that came `limit` admissions ago has left the window.
    const due = (admissions.at(-limit) ?? Number.NEGATIVE_INFINITY) + WINDOW;
    if (due > now) early += 1;
    earliest = Math.max(earliest, due - now);
    admissions.push(now);
  }
  return { early: early / admissions.length, extra: admissions.length / admittedExactly - 1, earliest };
}

const cases = [1, 10, 100].flatMap((limit) => [1, 2].map((load) => ({ limit, load })));
const figures = cases.map(({ limit, load }) => ({
  traffic: `${limit}/s at ${load} times the limit`,
  limit,
  load,
  wide: measure(limit, load, 100),
  narrow: measure(limit, load, 10),
}));

describe("the early admissions of a bucketed window", () => {
  it("are nearly 5 % with buckets of 100 ms and 0.5 % with 10 ms, if one request a second is allowed and comes", () => {
    const [{ wide, narrow }] = figures;
    expect(wide.early).toBeGreaterThan(0.04);
    expect(wide.early).toBeLessThan(0.055);
    expect(narrow.early).toBeGreaterThan(0.004);
    expect(narrow.early).toBeLessThan(0.0055);
  });

  it.each(figures)("are at most about half of all: $traffic", ({ wide, narrow }) => {
    expect(wide.early).toBeLessThan(0.51);
    expect(narrow.early).toBeLessThan(wide.early);
  });

  it.each(figures)("add less than half a bucket to what a window lets through: $traffic", ({ wide, narrow }) => {
    expect(wide.extra).toBeGreaterThan(0);
    expect(wide.extra).toBeLessThan(0.05);
    expect(narrow.extra).toBeGreaterThan(0);
    expect(narrow.extra).toBeLessThan(0.005);
  });

  it.each(figures.filter(({ limit }) => limit <= 10))("are some ten times fewer in tenths: $traffic", (figure) => {
    for (const measured of ["early", "extra"] as const) {
      const ratio = figure.wide[measured] / figure.narrow[measured];
      expect(ratio).toBeGreaterThan(5);
      expect(ratio).toBeLessThan(15);
    }
  });

  it.each(figures)("come less than a bucket early: $traffic", ({ wide, narrow }) => {
    expect(wide.earliest).toBeLessThan(100_000);
    expect(narrow.earliest).toBeLessThan(10_000);
  });

  it("are in the documentation as measured", () => {
    const rows = figures.map(({ limit, load, wide, narrow }) => [
      `${limit}/s`,
      `${load} ×`,
      ...[wide.early, wide.extra, narrow.early, narrow.extra].map(percent),
    ]);
    expect(documented("guide/algorithms.md")).toContain(tableRows(rows));
  });
});
