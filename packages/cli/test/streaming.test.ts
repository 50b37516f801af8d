import { spawn, spawnSync } from "node:child_process";
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { headgate, outcome, program, start } from "headgate-testkit/headgate-command";
import { afterAll, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "headgate-"));
afterAll(() => rmSync(folder, { recursive: true }));

const CONFIG = `"config": {"default": {"capacity": 2, "refill_rate": 1}}`;

/** Long enough that 300,000 of them would not fit into the heap below. */
const NAME = `ü${"x".repeat(100)}`;

function* requests(count: number, before: string, after: string): Iterable<string> {
  yield before;
  for (let i = 0; i < count; i += 1000) {
    const lines = Array.from({ length: 1000 }, (_, k) => `{"user": "${NAME}${k}", "time": ${i / 1000}}`);
    yield `${i === 0 ? "" : ",\n"}${lines.join(",\n")}`;
  }
  yield after;
}

test("300,000 requests fit into a heap of 24 MB", async () => {
  const stdin = requests(300_000, `{${CONFIG}, "requests": [`, "]}");
  const run = await headgate(["scenario", "--file", "-"], { stdin, node: ["--max-old-space-size=24"] });
  expect(run).toMatchObject({ code: 0, stderr: "" });
  const lines = run.stdout.trimEnd().split("\n");
  expect(lines).toHaveLength(300_000);
  expect(lines.at(-1)).toMatch(/x999", "time": 299.0, "decision": "ALLOW", "remaining": 1.0}$/);
});

test("config may come after the requests, in a file, in a pipe and on standard input", async () => {
  const text = [...requests(5_000, `{"requests": [`, `], ${CONFIG}}`)].join("");
  const file = join(folder, "late-config.json");
  writeFileSync(file, text);
  const expected = await headgate(["scenario", "--file", "-"], {
    stdin: [...requests(5_000, `{${CONFIG}, "requests": [`, "]}")].join(""),
  });
  expect(expected.stdout).toContain(`"remaining": 1.0`);
  const pipe = spawnSync("bash", ["-c", `"$0" "$1" scenario --file <(cat "$2")`, process.execPath, program, file]);
  expect(await headgate(["scenario", "--file", file])).toEqual(expected);
  expect(await headgate(["scenario", "--file", "-"], { stdin: text })).toEqual(expected);
  expect(pipe.stdout.toString()).toBe(expected.stdout);
});

test("a missing comma is found without reading on", async () => {
  const child = start(["scenario", "--file", "-"]);
  const finished = outcome(child);
  child.stdin.write(`{${CONFIG}, "requests": [{"user": "a", "time": 0}\n{"user": "a", "time": 0}`);
  // Standard input stays open: the command must not wait for the rest.
  const { stderr, stdout, code } = await finished;
  expect(stderr).toMatch(/line 2, column 1: expected "," or "\]"/);
  expect(stdout.split("\n")).toHaveLength(2);
  expect(code).toBe(1);
});

test("decisions come as requests do", async () => {
  const child = start(["scenario", "--file", "-"]);
  const finished = outcome(child);
  child.stdin.write(`{${CONFIG}, "requests": [{"user": "a", "time": 0},`);
  const first = await new Promise((resolve) => child.stdout.once("data", resolve));
  expect(String(first)).toBe(`{"user": "a", "time": 0.0, "decision": "ALLOW", "remaining": 1.0}\n`);
  child.stdin.end(`{"user": "a", "time": 0}]}`);
  expect((await finished).stdout.split("\n")).toHaveLength(3);
});

test("a reader that has seen enough ends it quietly", () => {
  const file = join(folder, "long.json");
  writeFileSync(file, [...requests(20_000, `{${CONFIG}, "requests": [`, "]}")].join(""));
  const script = `"$0" "$1" scenario --file "$2" | head -n 1; echo "\${PIPESTATUS[0]}"`;
  const { stdout, stderr } = spawnSync("bash", ["-c", script, process.execPath, program, file], { encoding: "utf8" });
  expect(stderr).toBe("");
  expect(stdout.split("\n")).toEqual([expect.stringContaining("ALLOW"), "0", ""]);
});

test("a byte order mark is skipped", async () => {
  const run = await headgate(["scenario", "--file", "-"], { stdin: `\ufeff{"requests": [{"user": "a", "time": 0}]}` });
  expect(run).toMatchObject({ code: 0, stdout: expect.stringContaining("ALLOW") });
});

/** Runs a command on a terminal of its own. */
const terminal = "script";
const hasTerminal = spawnSync(terminal, ["--version"]).status === 0;

test.skipIf(!hasTerminal)("a terminal sees progress, and it is gone at the end", async ({ signal }) => {
  const pipe = join(folder, "endless");
  spawnSync("bash", ["-c", `mkfifo "$0"`, pipe]);
  const command = `'${process.execPath}' '${program}' scenario --file '${pipe}' > /dev/null`;
  const child = spawn(terminal, ["-qec", command, "/dev/null"], { env: { ...process.env, TERM: "xterm" } });
  const finished = outcome(child);
  let shown = "";
  child.stdout.on("data", (piece) => {
    shown += piece;
  });
  // Requests come until there is progress to see, however fast they are decided.
  async function* untilShown(): AsyncIterable<string> {
    yield `{${CONFIG}, "requests": [`;
    while (!shown.includes("headgate: ") && !signal.aborted) {
      yield `{"user": "a", "time": 0},\n`.repeat(1000);
      await new Promise(setImmediate);
    }
    yield `{"user": "a", "time": 0}]}`;
  }
  await pipeline(untilShown, createWriteStream(pipe));
  const { stdout } = await finished;
  expect(stdout).toMatch(/headgate: \d+ requests decided/);
  expect(stdout.endsWith("\r\u001b[K")).toBe(true);
});
