import { isThere, onCore } from "../run/cores.ts";

/** The first is where the system has most of its own work. */
const CORE = 1;

/**
 * A command that holds the command after it, and all that this starts, to one core, on which each runs until it waits
 * for another. So a server finds as many requests waiting each time, whatever else the machine does.
 */
export function onOneCore(): readonly string[] {
  return isThere("chrt") ? [...onCore(CORE), "chrt", "--batch", "0"] : onCore(CORE);
}
