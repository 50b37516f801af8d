/** 1,024 registers estimate a number with a standard error of 3 %. */
const REGISTER_BITS = 10;
const REGISTERS = 1 << REGISTER_BITS;
/** The constant of HyperLogLog for so many registers. */
const ALPHA = 0.7213 / (1 + 1.079 / REGISTERS);
const PERIOD_MS = 60_000;

/** Estimates how many different hashes were added (HyperLogLog, in a kilobyte). */
class DistinctCount {
  private readonly registers = new Uint8Array(REGISTERS);

  add(hash: number): void {
    const register = hash >>> (32 - REGISTER_BITS);
    // The highest bit that is set in the rest of the hash, from the left.
    const rank = Math.clz32((hash << REGISTER_BITS) | (1 << (REGISTER_BITS - 1))) + 1;
    if (rank > this.registers[register]) this.registers[register] = rank;
  }

  estimate(): number {
    let sum = 0;
    let empty = 0;
    for (const rank of this.registers) {
      sum += 2 ** -rank;
      if (rank === 0) empty += 1;
    }
    const estimate = (ALPHA * REGISTERS * REGISTERS) / sum;
    // For small numbers, the empty registers tell more.
    return estimate <= 2.5 * REGISTERS && empty > 0 ? REGISTERS * Math.log(REGISTERS / empty) : estimate;
  }

  clear(): void {
    this.registers.fill(0);
  }
}

/** Identities checked in one minute. */
interface Period {
  start: number;
  readonly any: DistinctCount;
  readonly above: DistinctCount;
}

/** How many identities were checked in the last whole minute, and how many of them are close to a limit. */
export class DistinctIdentities {
  private current = newPeriod();
  private last = newPeriod();
  private readonly now: () => number;

  constructor(now: () => number = Date.now) {
    this.now = now;
  }

  add(dimension: string, identifier: string, isAbove: boolean): void {
    this.turn();
    const hash = hashOf(identifier, hashOf(dimension, SEED));
    this.current.any.add(hash);
    if (isAbove) this.current.above.add(hash);
  }

  /** Estimates for the last whole minute. */
  lastMinute(): { readonly any: number; readonly above: number } {
    this.turn();
    const any = Math.round(this.last.any.estimate());
    // Both are estimates, and a part must not look larger than the whole.
    return { any, above: Math.min(any, Math.round(this.last.above.estimate())) };
  }

  private turn(): void {
    const start = Math.floor(this.now() / PERIOD_MS);
    if (start === this.current.start) return;
    const { current, last } = this;
    last.any.clear();
    last.above.clear();
    this.current = last;
    this.last = current;
    // Nothing was checked in the minute before this one.
    if (start !== current.start + 1) {
      current.any.clear();
      current.above.clear();
    }
    this.current.start = start;
  }
}

function newPeriod(): Period {
  return { start: Number.NaN, any: new DistinctCount(), above: new DistinctCount() };
}

const SEED = 0x811c9dc5;

/** FNV-1a over characters, mixed at the end, since its high bits vary little for short texts. */
function hashOf(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 16;
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
