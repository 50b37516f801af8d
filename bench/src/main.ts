import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { collectTemporaryFiles } from "headgate-testkit/temporary-files";
import { accuracy, accuracyPackages } from "./accuracy/accuracy.ts";
import { type Options, readOptions, UsageError } from "./options.ts";
import { peerVersions } from "./peers/peer-versions.ts";
import { progress } from "./progress.ts";
import { benchmarksPage } from "./report/benchmarks-page.ts";
import { machine } from "./report/machine.ts";
import { readMeasuredSuites, writeMeasuredSuites } from "./report/measured-suites.ts";
import { type Ranking, type Result, rankings } from "./report/results.ts";
import { textTable } from "./report/table.ts";
import { runInChild } from "./run/in-child.ts";
import { nodeProgram, outputOf } from "./run/node-versions.ts";
import { runRounds } from "./run/rounds.ts";
import { Samples } from "./run/samples.ts";
import { type Budget, isHeadgate, type Suite, type Task } from "./suite.ts";
import { findSuite, suites } from "./suites.ts";
import { usage } from "./usage.ts";

const PAGE = new URL("../../docs/internals/benchmarks.md", import.meta.url);
const MAIN = fileURLToPath(import.meta.url);
const PACKAGE = new URL("../package.json", import.meta.url);
/** Dependencies of the subjects, whose versions matter too. */
const BENEATH = ["@hono/node-server", "express", "fastify", "hono", "ioredis"];

async function main(): Promise<void> {
  collectTemporaryFiles();
  const options = readOptions(process.argv.slice(2));
  if (options.write && !options.help) return write(options);
  const [name] = options.suites;
  if (name === undefined || options.help) return console.log(usage());
  if (name === "accuracy") {
    return console.log(await accuracy(options.subjects, versionsOf(accuracyPackages), (text) => console.error(text)));
  }
  const suite = knownSuite(name);
  const taken = await take(suite, options);
  console.log(
    options.json
      ? JSON.stringify(taken.rankings.flatMap(({ results }) => results))
      : taken.rankings.map(textTable).join("\n\n"),
  );
}

/** Measures the suites with each version of Node, one after the other, and writes the page. */
async function write({ suites: names, quick, nodes }: Options): Promise<void> {
  const chosen = names.length === 0 ? suites : names.map(knownSuite);
  const found = await Promise.all(nodes.map(nodeProgram));
  for (const suite of chosen) {
    const surroundings = machine(found.map(({ version }) => version).join(" and "));
    const measured = [];
    for (const { program, version } of found) {
      console.error(`${suite.name} on Node ${version}`);
      const args = [MAIN, suite.name, "--json", ...(quick ? ["--quick"] : [])];
      try {
        const results: Result[] = JSON.parse(await outputOf(program, args));
        measured.push({ version, results });
      } catch (error) {
        // The others took long to measure, so they are written all the same.
        console.error(`${suite.name} is not on the page: ${error instanceof Error ? error.message : error}`);
        process.exitCode = 1;
      }
    }
    if (measured.length === 0) continue;
    const versions = suite.name === "peers" ? peerVersions() : versionsOf([...subjectsOf(suite), ...BENEATH]);
    const all = { ...readMeasuredSuites(), [suite.name]: { quick, machine: surroundings, versions, measured } };
    writeMeasuredSuites(all);
    writeFileSync(PAGE, benchmarksPage(suites, all));
  }
}

interface Taken {
  readonly rankings: readonly Ranking[];
  readonly notes: readonly string[];
}

async function take(suite: Suite, options: Options): Promise<Taken> {
  const { quick, workloads, subjects } = options;
  requireKnown(suite, "workload", workloads, new Set(suite.workloads.map(({ name }) => name)));
  requireKnown(suite, "subject", subjects, subjectsOf(suite));
  const samples = new Samples();
  const observer = progress(process.stderr);
  const selection = { budget: budgetOf(suite, options), quick, workloads, subjects };
  for (const sentence of suite.absent ?? []) console.error(sentence);
  const surroundings = await suite.open?.();
  const run = (task: Task) => runInChild({ ...task, address: surroundings?.address }, surroundings?.launcher);
  const failed = await runRounds(suite, selection, samples, observer, run).finally(() => surroundings?.close());
  observer.end();
  // Without a peer there is still a comparison; without Headgate there is none.
  if ([...failed].some(isHeadgate)) process.exitCode = 1;
  const wanted = suite.workloads.filter(({ name }) => workloads?.includes(name) ?? true);
  return { rankings: rankings(wanted, samples), notes: surroundings?.notes ?? [] };
}

function knownSuite(name: string): Suite {
  const suite = findSuite(name);
  if (suite !== undefined) return suite;
  throw new UsageError(`there is no suite ${name}; there are accuracy, ${suites.map((each) => each.name).join(", ")}`);
}

function requireKnown(suite: Suite, what: string, asked: readonly string[] = [], known: ReadonlySet<string>): void {
  const unknown = asked.find((name) => !known.has(name));
  if (unknown === undefined) return;
  throw new UsageError(`${suite.name} has no ${what} ${unknown}; it has ${[...known].join(", ")}`);
}

function subjectsOf({ experiments }: Suite): ReadonlySet<string> {
  return new Set(experiments.flatMap(({ subjects }) => subjects));
}

function budgetOf(suite: Suite, { quick, rounds, seconds }: Options): Budget {
  const budget = quick ? suite.quick : suite.full;
  return {
    ...budget,
    rounds: rounds ?? budget.rounds,
    timedMs: seconds === undefined ? budget.timedMs : 1000 * seconds,
  };
}

/** Versions are pinned in the package, so they are the installed ones. */
function versionsOf(packages: readonly string[]): [name: string, version: string][] {
  const { dependencies }: { dependencies: Record<string, string> } = JSON.parse(readFileSync(PACKAGE, "utf8"));
  return Object.entries(dependencies).filter(([name]) => packages.includes(name));
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  console.error(`bench: ${error.message}`);
  console.error(usage());
  process.exitCode = 1;
}
