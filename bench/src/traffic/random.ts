const SEED = 0x9e3779b9;

/** Numbers from 0 (inclusive) to 1 (exclusive), the same in every process (xorshift, Marsaglia). */
export function seededRandom(seed = SEED): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}
