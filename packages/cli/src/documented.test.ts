import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { checkRules } from "headgate-server";
import { codeBlocks, pages } from "headgate-testkit/docs-pages";
import { afterAll, describe, expect, it } from "vitest";
import { makeProgram } from "./program.ts";
import { readSimulation } from "./simulate/simulation-file.ts";

const program = makeProgram(() => {});

/** The program and its commands, with those below them. */
function commandsOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commandsOf)];
}

function helpOf(command: Command): string {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part) }).outputHelp();
  return text;
}

/** The words of each call of `headgate` in a shell script, without quotes, comments and redirections. */
function callsIn(script: string): string[][] {
  const calls = script.replaceAll("\\\n", " ").matchAll(/(?:^|[|&$(]\s*|npx )headgate ([^|&()\n]*)/gm);
  return [...calls].map(([, call]) =>
    [...call.replace(/\s#.*/, "").matchAll(/'[^']*'|"[^"]*"|\S+/g)].map(([word]) =>
      word.replace(/^(['"])(.*)\1$/, "$2"),
    ),
  );
}

/** What of a call the program does not have. */
function unknownIn(words: readonly string[]): string[] {
  let command = program;
  let rest = words;
  if (rest[0] === "help") [, ...rest] = rest;
  for (;;) {
    const below = command.commands.find((each) => each.name() === rest[0]);
    if (below === undefined) break;
    command = below;
    [, ...rest] = rest;
  }
  // A command that only groups others takes no other word.
  if (command.commands.length > 0 && rest[0] !== undefined && !rest[0].startsWith("-")) return [rest[0]];
  const options = command.createHelp().visibleOptions(command);
  const known = options.flatMap(({ long, short }) => [long, short]);
  return rest.filter((word) => /^--?\w/.test(word)).filter((word) => !known.includes(word.split("=")[0]));
}

describe("calls of headgate", () => {
  const inPages = pages().flatMap((page) =>
    codeBlocks(page, "sh").flatMap(({ line, code }) =>
      callsIn(code).map((words) => ({ where: `${page.path}:${line}`, words })),
    ),
  );
  const inHelp = commandsOf(program).flatMap((command) =>
    callsIn(helpOf(command)).map((words) => ({ where: `the help of ${command.name()}`, words })),
  );

  it("in the documentation have commands and options that exist", () => {
    expect(inPages.length).toBeGreaterThan(40);
    expect(inPages.filter(({ words }) => unknownIn(words).length > 0)).toEqual([]);
  });

  it("in help texts have commands and options that exist", () => {
    expect(inHelp.length).toBeGreaterThan(30);
    expect(inHelp.filter(({ words }) => unknownIn(words).length > 0)).toEqual([]);
  });

  it("are noticed if they do not", () => {
    expect(unknownIn(["ruls", "apply"])).toEqual(["ruls"]);
    expect(unknownIn(["rules", "aply", "rules.yaml"])).toEqual(["aply"]);
    expect(unknownIn(["serve", "--redis=redis://a", "--rediss"])).toEqual(["--rediss"]);
  });
});

describe("YAML files in the documentation", () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-documented-"));
  afterAll(() => rmSync(folder, { recursive: true }));

  const files = pages().flatMap((page) =>
    codeBlocks(page, "yaml")
      .filter(({ code }) => /^rules:/m.test(code))
      .map(({ line, code }) => ({ where: `${page.path}:${line}`, code })),
  );
  const simulations = files.filter(({ code }) => /^traffic:/m.test(code));
  const rules = files.filter((file) => !simulations.includes(file));

  it("exist for rules and for simulations", () => {
    expect(rules.length).toBeGreaterThan(2);
    expect(simulations.length).toBeGreaterThan(0);
  });

  it.each(rules)("are valid rules files: $where", async ({ code }) => {
    expect((await checkRules(code)).problems).toBeUndefined();
  });

  it.each(simulations)("describe simulations: $where", async ({ code }) => {
    const file = join(folder, "simulation.yaml");
    writeFileSync(file, code);
    await expect(readSimulation(file)).resolves.toMatchObject({ rules: expect.anything() });
  });
});
