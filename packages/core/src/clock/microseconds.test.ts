import { describe, expect, it } from "vitest";
import { HeadgateError } from "../errors.ts";
import { timeFromSeconds } from "./microseconds.ts";

describe("seconds as a time", () => {
  it.each([
    [0, 0],
    [1, 1_000_000],
    [0.1, 100_000],
    [1_700_000_000.123456, 1_700_000_000_123_456],
    [0.0000004, 0],
    [0.0000006, 1],
    [-1.5, -1_500_000],
    [9_007_199_254.74, 9_007_199_254_740_000],
  ])("%d are rounded to the nearest microsecond", (seconds, time) => {
    expect(timeFromSeconds(seconds)).toBe(time);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 9_007_199_255, -9_007_199_255, "1", null, undefined, 1n, {}])(
    "%s are refused, with the field named",
    (seconds) => {
      const read = (): number => timeFromSeconds(seconds, "requests[3].time");
      expect(read).toThrow(HeadgateError);
      expect(read).toThrow(/^requests\[3\]\.time: must be a number of seconds/);
      expect(read).toThrow(expect.objectContaining({ code: "HG_BAD_TIME", field: "requests[3].time" }));
    },
  );

  it("are named time in messages by default", () => {
    expect(() => timeFromSeconds("soon")).toThrow(expect.objectContaining({ field: "time" }));
  });
});
