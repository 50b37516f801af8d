import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { headgate } from "headgate-testkit/headgate-command";
import { afterAll, describe, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-replay-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

function line(second: number, address: string, path = "/api/v1/orders"): string {
  const time = `10/Oct/2025:13:${String(Math.floor(second / 60)).padStart(2, "0")}:${String(second % 60).padStart(2, "0")} +0000`;
  return `${address} - - [${time}] "GET ${path}?page=1 HTTP/1.1" 200 17 "-" "curl/8.5.0"\n`;
}

function rulesText(limit: number, more = ""): string {
  return `rules:
  - name: Everything
    dimension: ip
    endpoint_pattern: /**
    limit: ${limit}
    window_seconds: 60
    algorithm: fixed_window
  - name: Orders
    dimension: user
    endpoint_pattern: /api/v1/orders
    limit: ${limit}
    window_seconds: 60
${more}`;
}

const rules = file("rules.yaml", rulesText(3));
const strict = file("strict.yaml", rulesText(1));
// 5 requests of one address in a minute, 2 of another.
const log =
  [0, 1, 2, 3, 4].map((second) => line(second, "203.0.113.7")).join("") +
  line(5, "198.51.100.1") +
  line(6, "198.51.100.1");

async function reportOf(args: readonly string[], stdin = ""): Promise<Record<string, unknown>> {
  const run = await headgate(["replay", "--json", "--rules", rules, ...args], { stdin });
  expect(run).toMatchObject({ code: 0, stderr: "" });
  return JSON.parse(run.stdout);
}

const expected = { requests: 7, keys: 2, admitted: 5, denied: 2, denied_keys: 1, lines: 7 };

describe.concurrent("headgate replay", () => {
  it("reads files, standard input, and gzip in either", async () => {
    const plain = file("access.log", log);
    const half = log.indexOf("\n", 200) + 1;
    // Rotated logs are often joined without unpacking.
    const zipped = file("access.log.gz", Buffer.concat([gzipSync(log.slice(0, half)), gzipSync(log.slice(half))]));
    expect(await reportOf([plain])).toMatchObject(expected);
    expect(await reportOf([zipped])).toMatchObject(expected);
    expect(await reportOf(["-"], log)).toMatchObject(expected);
    expect(await reportOf([], log)).toMatchObject(expected);
  });

  it("applies rules to the methods that they name", async () => {
    const posts = file("posts.yaml", rulesText(3).replace("limit: 3", "methods: [POST]\n    limit: 1"));
    const both = `${line(0, "203.0.113.7")}${line(1, "203.0.113.7")}`;
    const stdin = both + both.replaceAll("GET", "POST");
    const run = await headgate(["replay", "--json", "--rules", posts, "-"], { stdin });
    expect(JSON.parse(run.stdout)).toMatchObject({ requests: 4, admitted: 3, denied: 1, unlimited: 2 });
  });

  it("names limits on concurrent tasks, which it does not apply", async () => {
    const slots = "  - { name: slots, dimension: ip, endpoint_pattern: /**, limit: 1, algorithm: concurrency }\n";
    const run = await headgate(["replay", "--rules", file("slots.yaml", `${rulesText(3)}${slots}`), "-"], {
      stdin: log,
    });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain("only reservations take the slots of limits on concurrent tasks, so 1 of 3 rules");
    expect(run.stdout).toMatch(/^ {2}everything +7 +5 +2 /m);
  });

  it("merges the logs of several servers", async () => {
    const lines = log.trimEnd().split("\n");
    const odd = file("odd.log", `${lines.filter((_, i) => i % 2 === 1).join("\n")}\n`);
    const even = file("even.log.gz", gzipSync(lines.filter((_, i) => i % 2 === 0).join("\n")));
    const both = await reportOf([odd, even]);
    const { notes: _, ...whole } = await reportOf([], log);
    expect(both).toMatchObject(whole);
  });

  it("prints a table that names rules, keys and what does not apply", async () => {
    const run = await headgate(["replay", "--rules", rules, "-"], { stdin: `${log}nonsense\n` });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(run.stdout).toContain("standard input: 8 lines, format combined");
    expect(run.stdout).toContain("standard input: 1 bad line (12.5 %)");
    expect(run.stdout).toContain('line 8 has no time in brackets: "nonsense"');
    expect(run.stdout).toContain("the dimension ip and have no tier, so 1 of 2 rules do not apply: orders");
    expect(run.stdout).toMatch(/^ {2}everything +7 +5 +2 +28\.6 % +2 +1 +50 %$/m);
    expect(run.stdout).toContain("hit first: 203.0.113.7 at 2025-10-10 13:00:03");
    expect(run.stdout).toMatch(/^ {2}203\.0\.113\.7 +5 +3 +2 +2025-10-10 13:00:03/m);
  });

  it("compares with other rules", async () => {
    const report = await reportOf(["--against", strict], log);
    expect(report).toMatchObject({
      denied: 2,
      against: { denied: 5, denied_keys: 2 },
      changes: { newly_denied: 3, newly_denied_keys: 2, newly_admitted: 0 },
    });
    const run = await headgate(["replay", "--rules", rules, "--against", strict], { stdin: log });
    expect(run.stdout).toContain("newly denied    3 requests of 2 keys");
  });

  it("writes a page", async () => {
    const page = join(folder, "report.html");
    const run = await headgate(["replay", "--rules", rules, "--html", page], { stdin: log });
    expect(run).toMatchObject({ code: 0, stderr: "" });
    expect(readFileSync(page, "utf8")).toMatch(/^<!doctype html>.*203\.0\.113\.7.*<\/html>\n$/s);
  });

  it.each([
    ["denied_share > 0.001", 3],
    ["denied_share > 0.1%", 3],
    ["denied_share > 28.6%", 0],
    ["denied_keys >= 1", 3],
    ["denied == 2", 3],
    ["denied != 2", 0],
    ["keys<3", 3],
    ["bad_lines > 0", 0],
  ])("--fail-if '%s' exits with %d", async (condition, code) => {
    const run = await headgate(["replay", "--rules", rules, "--fail-if", condition], { stdin: log });
    expect(run.code).toBe(code);
    expect(run.stderr).toMatch(code === 0 ? /^$/ : /^headgate: --fail-if: .* is [\d.]+\n$/);
  });

  it("--fail-if tests the other rules of a comparison, and can be repeated", async () => {
    const args = ["replay", "--rules", strict, "--against", rules];
    const both = [...args, "--fail-if", "denied > 2", "--fail-if", "newly_denied > 0"];
    expect(await headgate(both, { stdin: log })).toMatchObject({ code: 0 });
    expect(await headgate([...both, "--fail-if", "newly_admitted == 3"], { stdin: log })).toMatchObject({ code: 3 });
  });

  it("takes keys, costs and times from other fields", async () => {
    const lines = [0, 1, 2].map((at) =>
      JSON.stringify({ at, account: { id: "a" }, target: "/api/v1/orders", tokens: 2 }),
    );
    const fields = ["--time", "at", "--key", "user=account.id", "--path", "target", "--cost", "tokens"];
    const report = await reportOf(fields, lines.join("\n"));
    expect(report).toMatchObject({ requests: 3, admitted: 1, denied: 2, rules: [{ rule: "orders" }] });
  });

  it("counts all addresses of an IPv6 network as one", async () => {
    const report = await reportOf([], [1, 2, 3, 4].map((i) => line(i, `2001:db8::${i}`)).join(""));
    expect(report).toMatchObject({ keys: 1, admitted: 3, denied: 1 });
  });

  it("puts lines in order within --lateness", async () => {
    const late = line(58, "203.0.113.7") + line(61, "203.0.113.7") + line(57, "203.0.113.7") + line(59, "203.0.113.7");
    expect(await reportOf([], late)).toMatchObject({ denied: 0, late: 0 });
    expect(await reportOf(["--lateness", "0"], late)).toMatchObject({ late: 2 });
  });

  it.each([
    [[], "headgate: --rules: is required\n", 1],
    [["--rules", "/none.yaml"], "headgate: /none.yaml: no such file\n", 2],
    [["--rules", rules, "/none.log"], "headgate: /none.log: no such file\n", 2],
    [["--rules", rules, "--format", "apache"], "headgate: --format: must be one of combined,", 1],
    [
      ["--rules", rules, "--key", "ip=nobody", "--format", "combined"],
      "headgate: --key: the combined format has no field nobody",
      1,
    ],
    [["--rules", rules, "--fail-if", "denied"], "headgate: --fail-if: must be like 'denied_share > 0.001'", 1],
    [["--rules", rules, "--fail-if", "newly_denied > 1"], "headgate: --fail-if: there is no figure newly_denied", 1],
    [["--rules", rules, "--lateness", "x"], 'headgate: --lateness: must be a number from 0 to 3600, got "x"', 1],
    [
      ["--rules", rules, "--html", "/none/report.html"],
      "headgate: --html: /none/report.html cannot be written (ENOENT)",
      1,
    ],
  ])("%j is a mistake", async (args, message, code) => {
    const run = await headgate(["replay", ...args], { stdin: log });
    expect(run.stderr).toContain(message);
    expect(run.code).toBe(code);
  });

  it("says what is wrong with a log", async () => {
    const cut = file("cut.log.gz", gzipSync(log).subarray(0, 60));
    const run = await headgate(["replay", "--rules", rules, cut]);
    expect(run).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${cut}: is not valid gzip data (Z_BUF_ERROR)`),
    });
    const other = await headgate(["replay", "--rules", rules], { stdin: "hello\nworld\n" });
    expect(other).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("--format: standard input: the format was not recognized"),
    });
  });
});
