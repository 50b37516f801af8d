import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

/** Its temporary files are put where the test can see whether it has cleared up. */
const scratch = mkdtempSync(join(tmpdir(), "headgate-bench-test-"));
afterAll(() => rmSync(scratch, { recursive: true }));

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: "utf8", env: { ...process.env, TMPDIR: scratch } });
}

test("--json prints one array of figures and nothing else", { timeout: 60_000 }, () => {
  const subjects = ["headgate", "fast-ratelimit", "express-rate-limit", "floor: Map.get"];
  const { status, stdout, stderr } = bench(
    ...["memory", "--json", "--rounds", "1", "--seconds", "0.01", "--workload", "hot-deny"],
    ...subjects.flatMap((subject) => ["--subject", subject]),
  );
  expect(stderr).toBe("");
  expect(status).toBe(0);
  const results: { subject: string; median: number }[] = JSON.parse(stdout);
  for (const result of results) {
    expect(Object.keys(result)).toEqual(["workload", "subject", "unit", "median", "min", "max"]);
    expect(result).toEqual({
      workload: "hot-deny",
      subject: expect.any(String),
      unit: "M checks/s",
      median: expect.any(Number),
      min: result.median,
      max: result.median,
    });
  }
  expect(results.map(({ subject }) => subject).sort()).toEqual([...subjects].sort());
});

test("a suite that needs a server starts it, and clears up after it", { timeout: 60_000 }, () => {
  const subjects = ["rate-limiter-flexible", "rate-limiter-flexible with inMemoryBlockOnConsumed"];
  const { status, stdout, stderr } = bench(
    ...["redis", "--json", "--rounds", "1", "--seconds", "0.01", "--workload", "denied"],
    ...subjects.flatMap((subject) => ["--subject", subject]),
  );
  expect(stderr).toBe("");
  expect(status).toBe(0);
  const results: { subject: string; median: number }[] = JSON.parse(stdout);
  expect(results.map(({ subject }) => subject).sort()).toEqual(subjects);
  for (const { median } of results) expect(median).toBeGreaterThan(0);
  expect(readdirSync(scratch)).toEqual([]);
});

test("without a suite it says what there is", () => {
  const { status, stdout } = bench();
  expect(status).toBe(0);
  expect(stdout).toMatch(/^Suites:\n {2}memory .*\n.*hot, hot-deny, 100k, 1m-zipf, fresh.*\n {2}keys /m);
});

test.each([
  [["memry"], "there is no suite memry"],
  [["memory", "--workload", "warm"], "memory has no workload warm"],
  [["memory", "--subject", "nobody"], "memory has no subject nobody"],
  [["memory", "--rounds", "0"], "--rounds must be a number over 0"],
  [["memory", "redis"], "one suite at a time"],
  [["memory", "--write", "--rounds", "3"], "--write takes nothing else but suites"],
  [["memry", "--write"], "there is no suite memry"],
  [["--fast"], "'--fast'"],
])("%j is refused with what there is, and nothing on standard output", (args, message) => {
  const { status, stdout, stderr } = bench(...args);
  expect(status).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain(message);
  expect(stderr).toContain("Suites:");
});

test("without servers in other languages, peers says which variables name them", () => {
  const variables = ["RATELIMIT_BINARY", "LIMITADOR_BINARY", "THROTTLECRAB_BINARY", "GUBERNATOR_BINARY"];
  const env = { ...process.env, ...Object.fromEntries(variables.map((name) => [name, "/nowhere"])) };
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, "peers", "--json"], { encoding: "utf8", env });
  for (const name of variables) expect(stderr).toContain(name);
  expect(stdout).toBe("[]\n");
  expect(status).toBe(0);
});
