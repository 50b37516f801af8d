import { documented, percent, tableRows } from "headgate-testkit/docs-pages";
import { describe, expect, it } from "vitest";
import { poisson } from "../../../test/algorithms/poisson.ts";
import { Row } from "../../../test/algorithms/row.ts";
import { slidingWindow, slidingWindowLog } from "../../algorithms/registry.ts";

const WINDOW = 1_000_000;
const REQUESTS = 200_000;

/** Random traffic at `load` times the limit: how far the estimate is from what a log of the same traffic knows. */
function measure(limit: number, load: number) {
  const rate = { limit, windowMs: WINDOW / 1_000 };
  const row = new Row(slidingWindow(rate));
  const log = new Row(slidingWindowLog(rate));
  const admissions: number[] = [];
  let [tooMany, tooFew, admittedByLog, most, from] = [0, 0, 0, 0, 0];
  for (const now of poisson(WINDOW / limit / load, REQUESTS, 1_000 * limit + load)) {
    if (log.take(now, 1).allowed) admittedByLog += 1;
    while (admissions[from] <= now - WINDOW) from += 1;
    const hasRoom = admissions.length - from < limit;
    const { allowed } = row.take(now, 1);
    if (allowed) admissions.push(now);
    if (allowed && !hasRoom) tooMany += 1;
    if (!allowed && hasRoom) tooFew += 1;
    most = Math.max(most, admissions.length - from);
  }
  const all = admissions.length / admittedByLog;
  return { limit, load, tooMany: tooMany / REQUESTS, tooFew: tooFew / REQUESTS, all, most };
}

const figures = [10, 100].flatMap((limit) => [1, 2].map((load) => measure(limit, load)));

describe("the estimate of a sliding window counter", () => {
  it.each(figures)("lets through nearly what a log does: $limit/s at $load times the limit", ({ limit, all, most }) => {
    expect(all).toBeGreaterThan(0.8);
    expect(all).toBeLessThan(1.05);
    expect(most).toBeLessThan(1.5 * limit);
  });

  it.each(figures)("errs on both sides: $limit/s at $load times the limit", ({ tooMany, tooFew }) => {
    expect(tooMany).toBeGreaterThan(0.01);
    expect(tooMany).toBeLessThan(0.15);
    expect(tooFew).toBeGreaterThan(0.01);
    expect(tooFew).toBeLessThan(0.45);
  });

  it("is in the documentation as measured", () => {
    const rows = figures.map(({ limit, load, tooMany, tooFew, all, most }) => [
      `${limit}/s`,
      `${load} ×`,
      percent(tooMany),
      percent(tooFew),
      `${(100 * all).toFixed(1)} %`,
      `${most}`,
    ]);
    expect(documented("guide/algorithms.md")).toContain(tableRows(rows));
  });
});
