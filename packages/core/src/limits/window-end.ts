import { traitsOf } from "../algorithms/lookup.ts";
import type { Limit } from "./limit.ts";

/** When a unit taken at `time` no longer counts: with windows that are aligned to the clock that is the end of its own. */
export function windowEnd(limit: Limit, time: number): number {
  const { anchor, calendar, window } = limit;
  if (calendar !== undefined) return calendar.windowAt(time).end;
  const isAligned = traitsOf(limit).alignedWindow && anchor === "clock";
  return isAligned ? (Math.floor(time / window) + 1) * window : time + window;
}

/** The length of the window that a time is in, in microseconds. */
export function windowLength({ calendar, window }: Limit, time: number): number {
  if (calendar === undefined) return window;
  const { start, end } = calendar.windowAt(time);
  return end - start;
}
