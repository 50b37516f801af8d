import type { MakeChecker } from "./subject.ts";

const CHECKS_PER_CLOCK_READING = 64;

/** GCRA and nothing else: no decision object, validation or expiry, and the clock is read only occasionally. */
export async function load(): Promise<MakeChecker> {
  return ({ limit, windowMs, maxKeys }) => {
    const rows = new Map<string, number>();
    const fullAt = new Float64Array(maxKeys);
    const interval = windowMs / limit;
    const tolerance = windowMs - interval + 1e-6;
    let now = performance.now();
    let checks = 0;
    return {
      kind: "sync",
      check(key) {
        checks += 1;
        if (checks % CHECKS_PER_CLOCK_READING === 0) now = performance.now();
        let row = rows.get(key);
        if (row === undefined) {
          row = rows.size;
          rows.set(key, row);
        }
        const from = Math.max(fullAt[row], now);
        if (from - now > tolerance) return false;
        fullAt[row] = from + interval;
        return true;
      },
    };
  };
}
