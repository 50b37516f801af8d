// What docs/service/capacity.md has that is computed: the output of simulations, and a table of cores.

const BEGIN = "<!-- What it takes: npm run capacity -->\n\n";
const END = "\n<!-- end -->";

/** A command on the page, and what it printed. */
const SIMULATION = /```sh\nheadgate simulate (\S+)\n```\n\n```\n([\s\S]*?)```/g;

/**
 * The page with what the simulations print.
 * @param {string} page
 * @param {(file: string) => string} run
 */
export function withSimulations(page, run) {
  return page.replace(
    SIMULATION,
    (_, file) => `\`\`\`sh\nheadgate simulate ${file}\n\`\`\`\n\n\`\`\`\n${run(file).trim()}\n\`\`\``,
  );
}

/**
 * The page with the table that follows from its simulations and from what was measured.
 * @param {string} page
 * @param {string} benchmarks
 */
export function withTable(page, benchmarks) {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error("docs/service/capacity.md has no place for the table");
  return page.slice(0, begin + BEGIN.length) + table(page, benchmarks) + page.slice(end);
}

/**
 * @param {string} page
 * @param {string} benchmarks
 */
function table(page, benchmarks) {
  const rate = (/** @type {string} */ workload) => measured(benchmarks, workload);
  const [rest, batch] = [rate("rest-allowed"), rate("grpc-batch")];
  const [client, redis] = [rate("64-at-once-client"), rate("64-at-once-redis")];
  const rows = [...page.matchAll(SIMULATION)].flatMap(([, , output]) => {
    const checks = rounded(number(/([\d,]+) per second/, output));
    return [...output.matchAll(/^ {2}(\w+) .*? ([\d.,]+) \/ 1,000 /gm)].map(([, consistency, trips]) => {
      const calls = (checks * Number(trips.replaceAll(",", ""))) / 1000;
      const cores = (/** @type {number} */ perCore) => coresText(checks / perCore + calls / client);
      return [
        countText(checks),
        `\`${consistency}\``,
        cores(rest),
        cores(batch),
        countText(calls),
        coresText(calls / redis),
      ];
    });
  });
  const head = ["checks/s", "consistency", "cores, REST", "cores, gRPC batches", "Redis calls/s", "cores, Redis"];
  const lines = [head, ["--:", "---", "--:", "--:", "--:", "--:"], ...rows];
  return `${lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}

Measured, per second of processor time: ${countText(rest)} checks over REST (\`rest-allowed\`), ${countText(batch)} over gRPC in batches of 100 (\`grpc-batch\`), ${countText(client)} calls of Redis by a node (\`64-at-once-client\`), ${countText(redis)} calls by a Redis server (\`64-at-once-redis\`).
`;
}

/**
 * A rate in docs/internals/benchmarks.md, per second.
 * @param {string} benchmarks
 * @param {string} workload
 */
function measured(benchmarks, workload) {
  return number(new RegExp(`^\\| ${workload} \\| ([\\d.]+) k checks/s`, "m"), benchmarks) * 1000;
}

/**
 * @param {RegExp} pattern
 * @param {string} text
 */
function number(pattern, text) {
  const found = pattern.exec(text)?.[1];
  if (found === undefined) throw new Error(`nothing matches ${pattern}`);
  return Number(found.replaceAll(",", ""));
}

/** To one digit: what the traffic was meant to be, since arrivals are random. */
function rounded(/** @type {number} */ value) {
  return Number(value.toPrecision(1));
}

function countText(/** @type {number} */ value) {
  return Math.round(value).toLocaleString("en");
}

/** Rounded up, with a digit after the point while there are few. */
function coresText(/** @type {number} */ cores) {
  if (cores < 0.05) return "< 0.1";
  return cores < 10 ? (Math.ceil(cores * 10) / 10).toFixed(1) : countText(Math.ceil(cores));
}
