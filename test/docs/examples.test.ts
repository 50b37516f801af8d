import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeBlocks, pages } from "headgate-testkit/docs-pages";
import { root } from "headgate-testkit/repository";
import { expect, it, onTestFinished } from "vitest";

interface Program {
  readonly name: string;
  readonly code: string;
}

/** Complete programs; what imports nothing of ours is a fragment of one. */
function programs(language: "js" | "ts"): Program[] {
  return pages().flatMap((page) =>
    codeBlocks(page, language)
      .filter(({ code }) => /from "headgate/.test(code))
      .map(({ line, code }) => ({ name: `${page.path.replaceAll("/", "__")}__line-${line}.m${language}`, code })),
  );
}

it("every TypeScript example in the documentation compiles in strict mode", async () => {
  const all = programs("ts");
  expect(all.length).toBeGreaterThan(40);
  const options = { strict: true, exactOptionalPropertyTypes: true, noPropertyAccessFromIndexSignature: true };
  expect(await problemsOf(all, options)).toBe("");
});

it("every JavaScript example in the documentation uses what the packages export, as their types say", async () => {
  const all = programs("js");
  expect(all.length).toBeGreaterThan(4);
  // Modules that exist only on the platform that an example is for.
  const platforms = {
    name: "platforms.d.ts",
    code: 'declare module "cloudflare:workers";\ndeclare module "next/server";',
  };
  expect(await problemsOf([...all, platforms], { strict: false, allowJs: true, checkJs: true })).toBe("");
});

/** What the compiler reports about programs. */
async function problemsOf(programs: readonly Program[], options: object): Promise<string> {
  // Inside the repository, so that packages are found as they are by a program that has installed them.
  const modules = join(root, "node_modules", ".cache");
  mkdirSync(modules, { recursive: true });
  const folder = mkdtempSync(join(modules, "documented-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // Two examples may declare the same names: each is a module of its own.
  for (const { name, code } of programs) {
    writeFileSync(join(folder, name), name.endsWith(".d.ts") ? code : `${code}\nexport {};\n`);
  }
  const compilerOptions = {
    module: "nodenext",
    target: "es2022",
    experimentalDecorators: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
    ...options,
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*"] }));
  return output("typescript/bin/tsc", folder);
}

/** What a command of an installed package prints. */
function output(command: string, cwd: string): Promise<string> {
  const file = join(root, "node_modules", command);
  return new Promise((resolve) => {
    execFile(process.execPath, [file, "-p", "."], { cwd }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}
