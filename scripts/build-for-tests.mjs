import { execFileSync } from "node:child_process";

export function setup() {
  execFileSync(process.execPath, [new URL("build.mjs", import.meta.url).pathname], { stdio: "inherit" });
}
