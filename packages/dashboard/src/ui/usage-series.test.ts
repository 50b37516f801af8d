import { expect, it } from "vitest";
import { deniedText, evenly } from "./usage-series.ts";

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

it("counts what a rule in shadow mode would have denied among its requests, and candidates beside them", () => {
  const none = { allowed: [5, 7], denied: [1, 0], shadow_denied: [0, 0], candidate_denied: [0, 0] };
  expect(deniedText(none)).toBe("1 of 13 denied");
  expect(deniedText({ ...none, candidate_denied: [2, 3] })).toBe("1 of 13 denied, 5 by trial");
  expect(deniedText({ ...none, denied: [0, 0], shadow_denied: [30, 10] })).toBe("0 of 52 denied, 40 by trial");
});
