import { openSync, readSync } from "node:fs";

/**
 * Milliseconds, excluding the time in which this thread was runnable but others had its core: on a shared machine, that
 * says more about the neighbours than about the subject. Available on Linux; elsewhere this is the elapsed time.
 */
export function undisturbedNow(): number {
  return performance.now() - waitedMs();
}

const NANOSECONDS_PER_MILLISECOND = 1e6;
const line = Buffer.alloc(128);
const file = openSchedulerStatistics();

function openSchedulerStatistics(): number | undefined {
  try {
    // The id of the main thread is that of the process.
    return openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  } catch {
    return undefined;
  }
}

/** The file has one line: time on a core, time waiting for one, and number of time slices. */
function waitedMs(): number {
  if (file === undefined) return 0;
  const length = readSync(file, line, 0, line.length, 0);
  const [, waited] = line.toString("latin1", 0, length).split(" ");
  return Number(waited ?? 0) / NANOSECONDS_PER_MILLISECOND;
}
