import { expect, it } from "vitest";
import { evenly } from "./usage-series.ts";

it("fills the minutes in which nothing was decided", () => {
  const usage = {
    period: "minute" as const,
    from: "2026-05-01T10:00:30.000Z",
    to: "2026-05-01T10:04:30.000Z",
    starts: ["2026-05-01T10:02:00.000Z", "2026-05-01T10:04:00.000Z"],
  };
  const series = { allowed: [5, 7], denied: [1, 0], shadow_denied: [0, 2], candidate_denied: [0, 1] };
  const { times, allowed, denied, byTrial } = evenly(usage, series);
  expect(times.map((time) => new Date(time * 1000).toISOString().slice(14, 16))).toEqual(["01", "02", "03", "04"]);
  expect([allowed, denied, byTrial]).toEqual([
    [0, 5, 0, 7],
    [0, 1, 0, 0],
    [0, 0, 0, 3],
  ]);
});
