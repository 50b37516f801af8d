import { cosineOfTurns } from "./portable-math.ts";
import type { Random } from "./random.ts";
import type { Arrivals, TrafficSource } from "./traffic-model.ts";

const SECOND = 1_000_000;
const DAY = 86_400 * SECOND;

/** A burst of `size` requests of one key, `apart` microseconds from each other. */
interface Arrival {
  readonly time: number;
  readonly size: number;
  readonly apart: number;
}

/** When requests of a source arrive, in microseconds since the epoch, from `start` up to `end`. */
export function* arrivalTimes(
  { arrivals, rate }: TrafficSource,
  start: number,
  end: number,
  random: Random,
): Generator<Arrival> {
  const { model } = arrivals;
  if (model === "steady") {
    // A product instead of a sum: no rounding error grows.
    for (let i = 0; ; i += 1) {
      const time = start + Math.round((i * SECOND) / rate);
      if (time >= end) return;
      yield { time, size: 1, apart: 0 };
    }
  }
  const size = model === "bursts" ? arrivals.size : 1;
  const apart = model === "bursts" && size > 1 ? (arrivals.spreadMs * 1000) / (size - 1) : 0;
  const most = mostOf(arrivals);
  // Arrivals of the highest rate, of which those above the rate of the time are left out.
  let exact = start;
  for (;;) {
    exact += (random.gap() * SECOND * size) / (rate * most);
    const time = Math.round(exact);
    if (time >= end) return;
    if (most === 1 || random.chance(shareAt(arrivals, time, start) / most)) yield { time, size, apart };
  }
}

/** The highest rate, as a multiple of the average. */
function mostOf(arrivals: Arrivals): number {
  if (arrivals.model === "daily") return 2 - arrivals.low;
  return arrivals.model === "flash_crowd" ? Math.max(1, arrivals.factor) : 1;
}

/** The rate at a time, as a multiple of the average. */
function shareAt(arrivals: Arrivals, time: number, start: number): number {
  if (arrivals.model === "daily") {
    const turns = (time % DAY) / DAY - arrivals.peakHour / 24;
    return 1 + (1 - arrivals.low) * cosineOfTurns(turns);
  }
  if (arrivals.model !== "flash_crowd") return 1;
  const { atMs, riseMs, stayMs, fallMs, factor } = arrivals;
  const since = (time - start) / 1000 - atMs;
  if (since < 0) return 1;
  if (since < riseMs) return 1 + ((factor - 1) * since) / riseMs;
  const falling = since - riseMs - stayMs;
  if (falling < 0) return factor;
  return falling < fallMs ? factor - ((factor - 1) * falling) / fallMs : 1;
}
