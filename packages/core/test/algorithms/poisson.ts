/** The times of requests that come independently of each other, `each` microseconds apart on average. */
export function* poisson(each: number, requests: number, seed: number): Generator<number> {
  const random = mulberry32(seed);
  let now = 1_592_171_101_900_000;
  for (let i = 0; i < requests; i += 1) {
    now += Math.ceil(-Math.log(1 - random()) * each);
    yield now;
  }
}

/** The same numbers in every run, so that what is measured can be written down. */
function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}
