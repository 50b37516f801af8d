import { readFileSync } from "node:fs";
import { type Finding, ok, warn } from "./finding.ts";

const FEWEST_FILES = 4_096;

/** Every client uses a file descriptor. */
export function openFiles(limits: () => string = () => readFileSync("/proc/self/limits", "utf8")): Finding {
  const about = "open files";
  let found: string | undefined;
  try {
    found = /^Max open files\s+(\S+)/m.exec(limits())?.[1];
  } catch {
    return ok(about, "unknown on this system");
  }
  if (found === "unlimited" || Number(found) >= FEWEST_FILES) return ok(about, `${found} may be open at once`);
  return warn(
    about,
    `only ${found} may be open at once, and each client needs one: raise the limit (ulimit -n, LimitNOFILE)`,
  );
}
