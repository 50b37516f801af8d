import type { Limit } from "./limit.ts";

/** When a unit taken at `time` no longer counts: with windows that are aligned to the clock that is the end of its own. */
export function windowEnd(limit: Limit, time: number): number {
  const { algorithm, anchor, window } = limit;
  const aligned = algorithm === "sliding_window_counter" || (algorithm === "fixed_window" && anchor === "clock");
  return aligned ? (Math.floor(time / window) + 1) * window : time + window;
}
