// Completes package-lock.json after an install. npm leaves out optional packages of other platforms when the registry
// does not have them, and then `npm ci` refuses the file; it also leaves out integrity hashes. Run it
// (`npm run lock:complete`) after every upgrade, if possible with a registry that has all packages.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);
const file = new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));

const added = addPlatforms();
const missing = Object.entries(lock.packages).filter(
  ([path, entry]) => path.includes("node_modules/") && !entry.link && !entry.integrity,
);

// Eight at a time: each lookup starts an npm process.
for (let index = 0; index < missing.length; index += 8) {
  await Promise.all(missing.slice(index, index + 8).map(addIntegrity));
}

writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
const unknown = missing.filter(([, entry]) => !entry.integrity).map(([path]) => path);
console.log(`package-lock.json: added ${added} packages and ${missing.length - unknown.length} integrity hashes`);
if (unknown.length > 0) console.log(`The registry does not have:\n${unknown.join("\n")}`);

/** Adds an entry for each optional dependency that has an exact version and is not in the file. */
function addPlatforms() {
  const before = Object.keys(lock.packages).length;
  for (const [parent, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      if (!/^\d/.test(version) || isLocked(parent, name)) continue;
      const platform = platformOf(name);
      if (!platform) continue;
      const { os, cpu, libc } = platform;
      lock.packages[`node_modules/${name}`] = { version, cpu, ...(dev && { dev }), ...libc, optional: true, os };
    }
  }
  // npm sorts the entries by path in this way.
  lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => a.localeCompare(b, "en")));
  return Object.keys(lock.packages).length - before;
}

/** @param {string} parent @param {string} name */
function isLocked(parent, name) {
  return `${parent}/node_modules/${name}` in lock.packages || `node_modules/${name}` in lock.packages;
}

/**
 * The platform that a package such as `@rollup/rollup-linux-arm64-musl` is for, if its name says so.
 * @param {string} name
 */
function platformOf(name) {
  const [, os, cpu, abi] =
    /[-/](android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)-(\w+)(?:-(\w+))?$/.exec(name) ?? [];
  if (!os) return undefined;
  const libc = os === "linux" && { libc: [abi?.startsWith("musl") ? "musl" : "glibc"] };
  return { os: [os], cpu: [cpu], libc };
}

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
    const { stdout } = await run("npm", ["view", spec, "dist.integrity", "--loglevel=error"]);
    return stdout.trim();
  } catch (error) {
    if (!/\bE404\b/.test(error.stderr)) throw error;
    return undefined;
  }
}
