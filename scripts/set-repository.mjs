// The `homepage` of the root package.json is the one place that says where this repository is. This script writes it
// into every other file that names it:
//
//   npm run set-repository                                      brings all package.json files in line
//   npm run set-repository -- https://github.com/acme/headgate  moves the project
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { homepage: from, workspaces } = readManifest(".");
const to = process.argv[2] ?? from;
if (!/^https:\/\/github\.com\/[\w.-]+\/[\w.-]+$/.test(to)) {
  console.error(`expected an address such as https://github.com/acme/headgate, received ${to}`);
  process.exit(1);
}

// Links in prose and templates.
const tracked = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);
for (const file of tracked.filter((path) => /\.(md|ya?ml|service)$/.test(path))) {
  const text = readFileSync(join(root, file), "utf8");
  const moved = text.replaceAll(from, to);
  if (moved !== text) writeFileSync(join(root, file), moved);
}

for (const folder of [".", ...workspaces]) {
  const { repository: _, homepage: __, bugs: ___, ...manifest } = readManifest(folder);
  const fields = {
    repository: { type: "git", url: `git+${to}.git`, ...(folder === "." ? {} : { directory: folder }) },
    homepage: folder === "." ? to : `${to}/tree/main/${folder}#readme`,
    bugs: { url: `${to}/issues` },
  };
  writeFileSync(join(root, folder, "package.json"), `${JSON.stringify(withFields(manifest, fields), null, 2)}\n`);
}

/**
 * Puts the fields after the license, where people look for them.
 *
 * @param {Record<string, unknown>} manifest
 * @param {Record<string, unknown>} fields
 */
function withFields(manifest, fields) {
  const entries = Object.entries(manifest);
  const after = 1 + entries.findIndex(([name]) => name === "license");
  return Object.fromEntries([...entries.slice(0, after), ...Object.entries(fields), ...entries.slice(after)]);
}

/** @param {string} folder */
function readManifest(folder) {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
}
