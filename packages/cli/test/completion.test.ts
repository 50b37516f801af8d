import { spawnSync } from "node:child_process";
import { headgate } from "headgate-testkit/headgate-command";
import { beforeAll, describe, expect, test } from "vitest";

const root = new URL("..", import.meta.url).pathname;

function run(shell: string, args: string[], input = ""): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(shell, args, { cwd: root, encoding: "utf8", input });
}

function installed(shell: string): boolean {
  return run(shell, ["-c", "exit 0"]).status === 0;
}

describe.skipIf(!installed("bash"))("bash", () => {
  let script = "";
  beforeAll(async () => {
    script = (await headgate(["completion", "bash"])).stdout;
  });

  function completions(...words: string[]): string[] {
    const line = words.map((word) => `'${word}'`).join(" ");
    const drive = `COMP_WORDS=(headgate ${line}); COMP_CWORD=${words.length}; _headgate; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = run("bash", ["--norc", "-c", `${script}\n${drive}`]);
    expect(stderr).toBe("");
    return stdout.split("\n").filter((word) => word !== "");
  }

  test("parses", () => {
    expect(run("bash", ["-n"], script)).toMatchObject({ status: 0, stderr: "" });
  });

  test("completes", () => {
    expect(completions("")).toEqual(expect.arrayContaining(["check", "scenario", "completion", "help"]));
    expect(completions("sc")).toEqual(["scenario"]);
    expect(completions("check", "--")).toEqual(["--user", "--time", "--config", "--fail-on-deny", "--help"]);
    expect(completions("scenario", "--fa")).toEqual(["--fail-on-deny"]);
    expect(completions("scenario", "--file", "pack")).toEqual(["package.json"]);
    expect(completions("scenario", "--file", "=", "pack")).toEqual(["package.json"]);
    expect(completions("scenario", "--file", "=")).toContain("package.json");
    expect(completions("check", "--user", "")).toEqual([]);
    expect(completions("completion", "f")).toEqual(["fish"]);
    expect(completions("help", "ch")).toEqual(["check"]);
    expect(completions("serve", "--tls-c")).toEqual(["--tls-cert", "--tls-client-ca"]);
    expect(completions("audit", "ver")).toEqual(["verify"]);
    expect(completions("reservations", "re")).toEqual(["release"]);
    expect(completions("reservations", "list", "--js")).toEqual(["--json"]);
    expect(completions("audit", "list", "--sub")).toEqual(["--subject"]);
  });

  test("completes files and values", () => {
    expect(completions("rules", "validate", "pack")).toEqual(["package.json"]);
    expect(completions("rules", "diff", "--against", "pack")).toEqual(["package.json"]);
    expect(completions("rules", "export", "")).not.toContain("package.json");
    expect(completions("rules", "val")).toEqual(["validate"]);
    expect(completions("rules", "apply", "--u")).toEqual(["--url"]);
    expect(completions("serve", "--log-level", "")).toEqual([
      "trace",
      "debug",
      "info",
      "warn",
      "error",
      "fatal",
      "silent",
    ]);
    expect(completions("serve", "--log-format", "j")).toEqual(["json"]);
    expect(completions("serve", "--log-format", "=", "t")).toEqual(["text"]);
    expect(completions("serve", "--log-file", "pack")).toEqual(["package.json"]);
    expect(completions("serve", "--tls-cert", "pack")).toEqual(["package.json"]);
  });
});

test.skipIf(!installed("zsh"))("zsh parses", async () => {
  const { stdout } = await headgate(["completion", "zsh"]);
  expect(run("zsh", ["-n"], stdout)).toMatchObject({ status: 0, stderr: "" });
});

test.skipIf(!installed("fish"))("fish completes", async () => {
  const { stdout: script } = await headgate(["completion", "fish"]);
  const { stdout } = run("fish", ["--no-config", "-c", `${script}\ncomplete -C 'headgate sc'`]);
  expect(stdout).toMatch(/^scenario\t/);
  const of = (line: string) => run("fish", ["--no-config", "-c", `${script}\ncomplete -C '${line}'`]).stdout;
  expect(of("headgate serve --log-format j")).toMatch(/^json/);
  expect(of("headgate rules validate pack")).toContain("package.json");
});

test("every script knows every command and option", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout, code } = await headgate(["completion", shell]);
    expect(code).toBe(0);
    for (const word of ["check", "scenario", "completion", "help", "user", "time", "config", "file", "fail-on-deny"]) {
      expect(stdout, shell).toContain(word);
    }
  }
});
