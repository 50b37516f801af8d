// Packs the published packages as they go to the registry:
//
//   node scripts/pack.mjs DESTINATION [WORKSPACE...]
//
// A package.json in this repository also serves its developers: exports have a `source` condition, which lets tests
// run the sources, and there are scripts and development dependencies. None of that means anything to users, and the
// sources are not published, so it is left out.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const [destination, ...chosen] = process.argv.slice(2);
if (destination === undefined) {
  console.error("usage: node scripts/pack.mjs DESTINATION [WORKSPACE...]");
  process.exit(1);
}

const published = readJson(join(root, "package.json")).workspaces.filter(
  (folder) => !readJson(join(root, folder, "package.json")).private,
);
mkdirSync(destination, { recursive: true });
for (const folder of chosen.length > 0 ? chosen : published) {
  const file = pack(join(root, folder), resolve(destination));
  console.log(join(destination, file));
}

/**
 * @param {string} folder
 * @param {string} destination
 */
function pack(folder, destination) {
  const scratch = mkdtempSync(join(tmpdir(), "headgate-pack-"));
  try {
    const tarball = npmPack(folder, scratch);
    execFileSync("tar", ["-xzf", join(scratch, tarball), "-C", scratch]);
    const content = join(scratch, "package");
    const path = join(content, "package.json");
    writeFileSync(path, `${JSON.stringify(forUsers(readJson(path)), null, 2)}\n`);
    return npmPack(content, destination);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/**
 * @param {string} folder
 * @param {string} destination
 */
function npmPack(folder, destination) {
  const args = ["pack", "--ignore-scripts", "--loglevel=error", "--pack-destination", destination];
  return execFileSync("npm", args, { cwd: folder, encoding: "utf8" }).trim();
}

/** @param {Record<string, unknown>} manifest */
function forUsers({ scripts, devDependencies, "size-limit": _, exports, ...manifest }) {
  return exports === undefined ? manifest : { ...manifest, exports: withoutSource(exports) };
}

/** @param {Record<string, unknown>} exports */
function withoutSource(exports) {
  return Object.fromEntries(
    Object.entries(exports).map(([path, target]) => {
      if (typeof target === "string") return [path, target];
      const { source: _, ...conditions } = target;
      return [path, conditions];
    }),
  );
}

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"));
}
