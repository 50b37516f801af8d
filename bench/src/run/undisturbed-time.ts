import { openSync, readSync } from "node:fs";

/**
 * Milliseconds, without those in which this thread could have run but others had its processor: on
 * a shared machine they say more about the neighbours than about what is measured. Linux counts
 * them; elsewhere this is the plain time.
 */
export function undisturbedNow(): number {
  return performance.now() - waitedMs();
}

const NANOSECONDS_PER_MILLISECOND = 1e6;
const line = Buffer.alloc(128);
const file = openSchedulerStatistics();

function openSchedulerStatistics(): number | undefined {
  try {
    // The main thread's number is the process's.
    return openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  } catch {
    return undefined;
  }
}

/** The file has one line: time on a processor, time waiting for one, and how many turns it had. */
function waitedMs(): number {
  if (file === undefined) return 0;
  const length = readSync(file, line, 0, line.length, 0);
  const [, waited] = line.toString("latin1", 0, length).split(" ");
  return Number(waited ?? 0) / NANOSECONDS_PER_MILLISECOND;
}
