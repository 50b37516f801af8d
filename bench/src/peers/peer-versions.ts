import { contests } from "./contests.ts";
import { findProgram } from "./find-program.ts";

/** The versions of the servers in other languages that are installed. */
export function peerVersions(): [name: string, version: string][] {
  return Object.entries(contests).flatMap(([name, { program, versionOf }]): [string, string][] => {
    const path = findProgram(program);
    return path === undefined ? [] : [[name, versionOf(path)]];
  });
}
