import { expect } from "vitest";
import type { Row } from "./row.ts";
import { play, type Traffic } from "./traffic.ts";

/** Units that were admitted together, at a time of the key's own clock, which never runs backwards. */
export interface Admitted {
  readonly time: number;
  readonly units: bigint;
}

/** Plays traffic to a row, and lists what it admitted. */
export function admitted(row: Row, traffic: Traffic): Admitted[] {
  const list: Admitted[] = [];
  play(row, traffic, (now, cost, { allowed }) => {
    if (allowed && cost > 0) list.push({ time: Math.max(now, list.at(-1)?.time ?? now), units: BigInt(cost) });
  });
  return list;
}

/** Compares every span between two admissions, ends included, with the most that may pass in that time. */
export function expectBound(list: readonly Admitted[], mostIn: (span: number) => bigint): void {
  for (const [i, { time: from }] of list.entries()) {
    let passed = 0n;
    for (const { time: to, units } of list.slice(i)) {
      passed += units;
      const most = mostIn(to - from);
      if (passed > most) expect.fail(`${passed} passed from ${from} to ${to}, of at most ${most}`);
    }
  }
}

/** No bound: for the spans that an algorithm promises nothing about. */
export const UNBOUNDED = 2n ** 80n;
