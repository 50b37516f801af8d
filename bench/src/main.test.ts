import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

function bench(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: "utf8" });
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
  [["memory", "--write"], "--write runs every suite"],
  [["--fast"], "'--fast'"],
])("%j is refused with what there is, and nothing on standard output", (args, message) => {
  const { status, stdout, stderr } = bench(...args);
  expect(status).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toContain(message);
  expect(stderr).toContain("Suites:");
});
