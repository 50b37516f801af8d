import { isThere, onCore } from "../run/cores.ts";

/** The system does most of its own work on core 0. */
const CORE = 1;

/**
 * A command prefix that pins the command and its children to one core, where each runs until it blocks. A server then
 * always finds the same number of requests waiting, whatever else the machine does.
 */
export function onOneCore(): readonly string[] {
  return isThere("chrt") ? [...onCore(CORE), "chrt", "--batch", "0"] : onCore(CORE);
}
