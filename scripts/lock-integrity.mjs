// Adds the integrity hashes that npm leaves out of package-lock.json for optional packages of other platforms.
// Run it (`npm run lock:integrity`) after an upgrade, with a registry that has them.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);
const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));

const missing = Object.entries(lock.packages).filter(
  ([path, entry]) => path.includes("node_modules/") && !entry.link && !entry.integrity,
);

// Eight at a time: each lookup starts an npm process.
for (let index = 0; index < missing.length; index += 8) {
  await Promise.all(missing.slice(index, index + 8).map(addIntegrity));
}

writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
const unknown = missing.filter(([, entry]) => !entry.integrity).map(([path]) => path);
console.log(`package-lock.json: added ${missing.length - unknown.length} integrity hashes`);
if (unknown.length > 0) console.log(`The registry does not have:\n${unknown.join("\n")}`);

/** @param {[path: string, entry: { name?: string, version: string, integrity?: string }]} of */
async function addIntegrity([path, entry]) {
  const name = entry.name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
  const integrity = await registryIntegrity(`${name}@${entry.version}`);
  if (!integrity) return;
  // Right after the version, where npm itself puts it.
  const { version, ...rest } = entry;
  for (const key of Object.keys(entry)) delete entry[key];
  Object.assign(entry, { version, integrity }, rest);
}

/** @param {string} spec */
async function registryIntegrity(spec) {
  try {
    const { stdout } = await run("npm", ["view", spec, "dist.integrity"]);
    return stdout.trim();
  } catch (error) {
    if (!/\bE404\b/.test(error.stderr)) throw error;
    return undefined;
  }
}
