import { exp, ln } from "./portable-math.ts";
import type { Random } from "./random.ts";
import type { TrafficSource } from "./traffic-model.ts";

/** Chooses the keys of a source, as numbers from 1 on. */
export function keyChoice({ keys, zipf }: Pick<TrafficSource, "keys" | "zipf">, random: Random): () => number {
  if (zipf === 0) return () => random.whole(1, keys);
  const sums = new Float64Array(keys);
  let sum = 0;
  for (let key = 1; key <= keys; key += 1) {
    sum += exp(-zipf * ln(key));
    sums[key - 1] = sum;
  }
  return () => {
    const at = random.next() * sum;
    let [low, high] = [0, keys - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sums[middle] > at) high = middle;
      else low = middle + 1;
    }
    return low + 1;
  };
}
