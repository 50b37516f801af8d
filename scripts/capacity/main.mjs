// Writes what docs/service/capacity.md computes: node scripts/capacity/main.mjs [--measured] [FILE]. It runs the
// simulations of the page, which takes minutes, and computes the table from them and from docs/internals/benchmarks.md;
// with --measured it only computes the table, as after new benchmarks. A test checks that the table is up to date.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { withSimulations, withTable } from "./page.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const path = `${root}/docs/service/capacity.md`;
const page = readFileSync(path, "utf8");
const { values, positionals } = parseArgs({ options: { measured: { type: "boolean" } }, allowPositionals: true });

function simulate(/** @type {string} */ file) {
  console.error(file);
  return execFileSync(process.execPath, ["packages/cli/bin/headgate.js", "simulate", file], {
    cwd: root,
    encoding: "utf8",
  });
}

const simulated = values.measured ? page : withSimulations(page, simulate);
writeFileSync(
  positionals[0] ?? path,
  withTable(simulated, readFileSync(`${root}/docs/internals/benchmarks.md`, "utf8")),
);
