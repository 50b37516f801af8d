import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const install = fileURLToPath(new URL("install-servers.mjs", import.meta.url));
const build = fileURLToPath(new URL("build.mjs", import.meta.url));

export function setup() {
  for (const script of [install, build]) execFileSync(process.execPath, [script], { stdio: "inherit" });
}
