import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const install = fileURLToPath(new URL("install-servers.mjs", import.meta.url));
const build = fileURLToPath(new URL("build.mjs", import.meta.url));

let removeTemporaryFiles = () => {};

export async function setup() {
  for (const script of [install, build]) execFileSync(process.execPath, [script], { stdio: "inherit" });
  // The workers are started later, and inherit the folder.
  const { collectTemporaryFiles } = await import("headgate-testkit/temporary-files");
  removeTemporaryFiles = collectTemporaryFiles();
}

export function teardown() {
  removeTemporaryFiles();
}
