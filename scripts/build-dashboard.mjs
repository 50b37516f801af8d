// Bundles the dashboard into packages/server/dist/dashboard, unless nothing has changed since it was last bundled.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "packages/dashboard");
const built = join(root, "packages/server/dist/dashboard/index.html");
const stamp = join(folder, "dist/bundled-from");

/** What the bundle is made of. */
const INPUTS = [
  "package-lock.json",
  "packages/dashboard/index.html",
  "packages/dashboard/package.json",
  "packages/dashboard/vite.config.ts",
  "packages/dashboard/public",
  "packages/dashboard/src",
  "packages/simulator/src",
  "packages/server/src/rules",
  "packages/server/src/checks",
  "packages/core/src",
];

/** Returns whether it succeeded. */
export function buildDashboard() {
  const hash = createHash("sha256");
  for (const input of INPUTS) addTo(hash, join(root, input));
  const digest = hash.digest("hex");
  if (existsSync(built) && existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return true;
  const vite = join(root, "node_modules/vite/bin/vite.js");
  const options = { cwd: folder, stdio: "inherit" };
  const { status } = spawnSync(process.execPath, [vite, "build", "--logLevel", "warn"], options);
  if (status !== 0) return false;
  mkdirSync(join(folder, "dist"), { recursive: true });
  writeFileSync(stamp, digest);
  return true;
}

/**
 * @param {import("node:crypto").Hash} hash
 * @param {string} path
 */
function addTo(hash, path) {
  if (/\.\w+$/.test(path)) {
    hash.update(`${path.slice(root.length)}\n`).update(readFileSync(path));
    return;
  }
  const names = readdirSync(path).filter((name) => !/\.test\.tsx?$/.test(name));
  for (const name of names.sort()) addTo(hash, join(path, name));
}
