import { readFileSync } from "node:fs";
import { allSettings } from "headgate-server";
import { headgate } from "headgate-testkit/headgate-command";
import { expect, test } from "vitest";

test.concurrent.each([
  "",
  "check",
  "scenario",
  "replay",
  "suggest",
  "simulate",
  "serve",
  "config",
  "doctor",
  "audit",
  "audit verify",
  "audit list",
  "users",
  "users import",
  "users export",
  "keys",
  "keys create",
  "keys list",
  "keys revoke",
  "reservations",
  "reservations list",
  "reservations release",
  "completion",
  "help",
])("%s --help has examples", async (command) => {
  const run = await headgate([...command.split(" ").filter((word) => word !== ""), "--help"]);
  expect(run).toMatchObject({ code: 0, stderr: "" });
  expect(run.stdout).toMatch(/^Usage: headgate/);
  expect(run.stdout).toMatch(/Examples:\n {2}\$ /);
  expect(run.stdout, "no colour codes").not.toContain("\u001b");
  if (command === "check" || command === "scenario") expect(run.stdout).toMatch(/3 {2}a request was denied/);
});

test("serve --help lists the values of an option once", async () => {
  const { stdout } = await headgate(["serve", "--help"]);
  const options = stdout.replace(/\s+/g, " ");
  expect(options.match(/\bfatal\b/g)).toHaveLength(1);
  expect(options.match(/"json"/g)).toHaveLength(1);
  expect(options).not.toMatch(/json, text/);
  expect(options.match(/\bsplit\b/g)).toHaveLength(1);
});

test("serve --help has the defaults", async () => {
  const { stdout } = await headgate(["serve", "--help"]);
  const options = stdout.replace(/\s+/g, " ");
  for (const { name, takes, defaultText } of allSettings) {
    if (takes !== undefined && takes !== "" && defaultText !== undefined) {
      expect(options, name).toContain(`default: ${defaultText})`);
    }
  }
  expect(options).toContain("address of the gRPC listener, or off (default: 127.0.0.1:8081)");
});

test.each([
  [["serve", "--htp", "1"], "headgate: unknown option '--htp' (Did you mean --http?). See headgate serve --help.\n"],
  [["rules", "validate", "--x"], "headgate: unknown option '--x'. See headgate rules validate --help.\n"],
  [["--x"], "headgate: unknown option '--x'. See headgate --help.\n"],
  [["rules", "chekc"], "See headgate rules --help.\n"],
])("%j points to the help that answers it", async (args, message) => {
  const run = await headgate(args);
  expect(run).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining(message) });
});

test("help names a command's help", async () => {
  const [asked, direct] = await Promise.all([headgate(["help", "check"]), headgate(["check", "--help"])]);
  expect(asked).toEqual(direct);
});

test("no command at all is a mistake", async () => {
  const run = await headgate([]);
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(run.stderr).toMatch(/^Usage: headgate/);
});

test("--version is the package's", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  expect(await headgate(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});
