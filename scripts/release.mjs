// Prepares a release:
//
//   npm run release -- 0.2.0            says what would change
//   npm run release -- 0.2.0 --commit   changes it, commits and tags
//
// Sets the version of every published package and of the dependencies between them, and moves what CHANGELOG.md has
// under Unreleased to the new version. Pushing the tag starts .github/workflows/release.yml.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = process.cwd();
const [version, option, ...rest] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version ?? "") || !["--commit", undefined].includes(option) || rest.length > 0) {
  refuse("usage: npm run release -- VERSION [--commit], for example 0.2.0");
}

const { workspaces } = readJson("package.json");
const manifests = workspaces.map((folder) => ({ file: `${folder}/package.json`, ...read(`${folder}/package.json`) }));
const published = manifests.filter(({ manifest }) => !manifest.private);
const current = published[0].manifest.version;
const tag = `v${version}`;

if (git("status", "--porcelain") !== "") refuse("the working tree has uncommitted changes: commit or stash them");
if (!isNewer(version, current)) refuse(`${version} is not newer than ${current}`);
if (git("tag", "--list", tag) !== "") refuse(`the tag ${tag} exists`);

/** @type {Map<string, string>} The new text of each file that changes. */
const changes = new Map([["CHANGELOG.md", releasedChangelog(readFileSync(join(root, "CHANGELOG.md"), "utf8"))]]);
const names = new Set(published.map(({ manifest }) => manifest.name));
for (const { file, text, manifest } of manifests) {
  const changed = withVersion(manifest);
  if (changed !== text) changes.set(file, changed);
}
if (existsSync(join(root, "package-lock.json")))
  changes.set("package-lock.json", releasedLock(readJson("package-lock.json")));

for (const [file] of changes) console.log(`${option ? "change" : "would change"} ${file}`);
if (!option) {
  console.log(`would commit and tag ${tag}; add --commit to do it`);
  process.exit(0);
}
for (const [file, text] of changes) writeFileSync(join(root, file), text);
git("add", ...changes.keys());
git("commit", "--quiet", "--message", `release: ${version}`);
git("tag", "--annotate", "--message", tag, tag);
console.log(`committed and tagged ${tag}; publish it with: git push origin HEAD ${tag}`);

/** @param {Record<string, unknown>} manifest */
function withVersion(manifest) {
  setVersions(manifest);
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** Sets the version of one of our packages, and of those it depends on. */
function setVersions(entry) {
  if (names.has(entry.name)) entry.version = version;
  for (const field of ["dependencies", "devDependencies", "peerDependencies"]) {
    for (const name of Object.keys(entry[field] ?? {})) if (names.has(name)) entry[field][name] = version;
  }
}

function releasedLock(lock) {
  for (const [path, entry] of Object.entries(lock.packages)) if (workspaces.includes(path)) setVersions(entry);
  return `${JSON.stringify(lock, null, 2)}\n`;
}

/** @param {string} text */
function releasedChangelog(text) {
  const [before, unreleased] = text.split(/^## Unreleased\n/m);
  if (unreleased === undefined) refuse('CHANGELOG.md has no section "## Unreleased"');
  const [section] = unreleased.split(/^## /m);
  if (!/^- /m.test(section)) refuse("CHANGELOG.md has nothing under Unreleased");
  const today = new Date().toISOString().slice(0, "2026-01-01".length);
  return `${before}## Unreleased\n\n## ${version} (${today})\n${unreleased}`;
}

/**
 * @param {string} next
 * @param {string} previous
 */
function isNewer(next, previous) {
  const [left, right] = [next, previous].map((text) => text.split(/[.-]/).slice(0, 3).map(Number));
  const index = left.findIndex((number, place) => number !== right[place]);
  if (index >= 0) return left[index] > right[index];
  // A release is newer than its own pre-releases.
  return previous.includes("-") && next !== previous;
}

function read(file) {
  const text = readFileSync(join(root, file), "utf8");
  return { text, manifest: JSON.parse(text) };
}

function readJson(file) {
  return read(file).manifest;
}

function git(...args) {
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
}

function refuse(reason) {
  console.error(`release: ${reason}`);
  process.exit(1);
}
