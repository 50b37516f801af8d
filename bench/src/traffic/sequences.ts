import { seededRandom } from "./random.ts";

/** A power of two, so that wrapping around is a mask. */
export const SEQUENCE_LENGTH = 2 ** 21;

/** Key numbers, uniformly distributed. */
export function uniformSequence(keys: number, length = SEQUENCE_LENGTH): Uint32Array {
  const random = seededRandom();
  return new Uint32Array(length).map(() => random() * keys);
}

/**
 * Key numbers by Zipf's law with exponent 1: the second most frequent occurs half as often as the first, the third a
 * third as often. Ranks are scattered over the numbers; otherwise frequent keys would be neighbours in memory, because
 * they were inserted one after the other.
 */
export function zipfSequence(keys: number, length = SEQUENCE_LENGTH): Uint32Array {
  const random = seededRandom();
  const keyOfRank = shuffled(keys, random);
  const { share, alias } = aliasTable(Float64Array.from({ length: keys }, (_, rank) => 1 / (rank + 1)));
  return new Uint32Array(length).map(() => {
    const rank = Math.floor(random() * keys);
    return keyOfRank[random() < share[rank] ? rank : alias[rank]];
  });
}

/** Vose's alias method: draws from any distribution with two random numbers. */
function aliasTable(weights: Float64Array): { share: Float64Array; alias: Uint32Array } {
  const mean = weights.reduce((sum, weight) => sum + weight, 0) / weights.length;
  const share = weights.map((weight) => weight / mean);
  const alias = new Uint32Array(weights.length);
  const scarce: number[] = [];
  const ample: number[] = [];
  for (let i = 0; i < share.length; i += 1) (share[i] < 1 ? scarce : ample).push(i);
  while (scarce.length > 0 && ample.length > 0) {
    const taker = scarce.pop() as number;
    const giver = ample[ample.length - 1];
    alias[taker] = giver;
    share[giver] -= 1 - share[taker];
    if (share[giver] < 1) scarce.push(ample.pop() as number);
  }
  // The rest differs from 1 only by rounding.
  for (const i of [...scarce, ...ample]) share[i] = 1;
  return { share, alias };
}

function shuffled(length: number, random: () => number): Uint32Array {
  const numbers = Uint32Array.from({ length }, (_, i) => i);
  for (let i = length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    const number = numbers[i];
    numbers[i] = numbers[j];
    numbers[j] = number;
  }
  return numbers;
}
