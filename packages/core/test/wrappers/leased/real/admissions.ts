import { expect } from "vitest";

/** What a node was asked, and what came of it. Times are microseconds of the machine's clock. */
export interface Tally {
  /** For each admitted request: when that was known, and the number of the window in which it was decided. */
  readonly at: readonly number[];
  readonly window: readonly number[];
  readonly asked: number;
  readonly denied: number;
  /** Admitted and denied by the fallback. */
  readonly degraded: number;
  readonly degradedDenied: number;
  /** For how long at most, in milliseconds, a node that was to ask at a rate was kept from it. */
  readonly stalledMs: number;
  /** By window. */
  readonly firstDenial: ReadonlyMap<number, number>;
  /** How many failed, by code. */
  readonly errors: Readonly<Record<string, number>>;
}

/** How many were admitted, by window. */
function admittedIn(tallies: readonly Tally[]): Map<number, number> {
  const admitted = new Map<number, number>();
  for (const { window } of tallies) {
    for (const number of window) admitted.set(number, (admitted.get(number) ?? 0) + 1);
  }
  return admitted;
}

/** How many were admitted, by window: never more than the total. */
export function expectNoneOver(tallies: readonly Tally[], total: number): Map<number, number> {
  const admitted = admittedIn(tallies);
  const over = [...admitted].filter(([, units]) => units > total);
  expect(over, `windows that let in more than ${total}`).toEqual([]);
  return admitted;
}

/** How many a node has admitted in each window since a time, in milliseconds of the machine's clock. */
export function admittedSince({ at, window: windows }: Tally, window: number, sinceMs: number): number {
  return at.filter((time, i) => windows[i] === window && time >= 1_000 * sinceMs).length;
}

/** How many were admitted in each window that had traffic from its beginning to its end. */
export function admittedInWholeWindows(tallies: readonly Tally[], total: number): number[] {
  const admitted = expectNoneOver(tallies, total);
  const windows = [...admitted.keys()].sort((a, b) => a - b);
  return windows.slice(1, -1).map((window) => admitted.get(window) ?? 0);
}

/** Which part of the total had been admitted at the first denial in a window. */
export function shareAtFirstDenial(tallies: readonly Tally[], total: number, window: number): number {
  const denials = tallies.flatMap(({ firstDenial }) => firstDenial.get(window) ?? []);
  if (denials.length === 0) throw new Error(`nobody was denied in window ${window}`);
  const first = Math.min(...denials);
  let consumed = 0;
  for (const { at, window: windows } of tallies) {
    for (let i = 0; i < at.length; i += 1) if (windows[i] === window && at[i] <= first) consumed += 1;
  }
  return consumed / total;
}

/** Fewer units than there should be, perhaps because a busy machine kept a process from asking. */
class TooFew extends Error {}

export function expectAtLeast(least: number, units: number | undefined, what: string): void {
  if (!(units !== undefined && units >= least)) throw new TooFew(`${what}: ${units}, expected at least ${least}`);
}

/** Runs a scenario again if it had too few of something. Everything else that is wrong fails at once: too many, above all. */
export async function inOneOfFiveTries(scenario: () => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await scenario();
    } catch (error) {
      if (!(error instanceof TooFew) || tries === 5) throw error;
    }
  }
}

/** Waits until a window of this length has just begun, unless enough of it is left; returns its number. */
export async function windowWithRoom(windowMs: number, roomMs: number): Promise<number> {
  const left = windowMs - (Date.now() % windowMs);
  if (left < roomMs) await sleep(left + 5);
  return Math.floor(Date.now() / windowMs);
}

/** The start of a window that is soon enough to wait for and late enough to announce to processes. */
export function nextStart(windowMs: number): number {
  return Math.ceil((Date.now() + 100) / windowMs) * windowMs * 1000;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
