import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeBlocks, pages } from "headgate-testkit/docs-pages";
import { root } from "headgate-testkit/repository";
import { expect, it, onTestFinished } from "vitest";

/** Complete programs; what imports nothing of ours is a fragment of one. */
function programs(): { name: string; code: string }[] {
  return pages().flatMap((page) =>
    codeBlocks(page, "ts")
      .filter(({ code }) => /from "headgate/.test(code))
      .map(({ line, code }) => ({ name: `${page.path.replaceAll("/", "__")}__line-${line}.mts`, code })),
  );
}

it("every TypeScript example in the documentation compiles in strict mode", async () => {
  const all = programs();
  expect(all.length).toBeGreaterThan(40);
  // Inside the repository, so that packages are found as they are by a program that has installed them.
  const modules = join(root, "node_modules", ".cache");
  mkdirSync(modules, { recursive: true });
  const folder = mkdtempSync(join(modules, "documented-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  // Two examples may declare the same names: each is a module of its own.
  for (const { name, code } of all) writeFileSync(join(folder, name), `${code}\nexport {};\n`);
  const compilerOptions = {
    module: "nodenext",
    target: "es2022",
    strict: true,
    exactOptionalPropertyTypes: true,
    noPropertyAccessFromIndexSignature: true,
    experimentalDecorators: true,
    noEmit: true,
    skipLibCheck: true,
    types: ["node"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.mts"] }));
  expect(await output("typescript/bin/tsc", folder)).toBe("");
});

/** What a command of an installed package prints. */
function output(command: string, cwd: string): Promise<string> {
  const file = join(root, "node_modules", command);
  return new Promise((resolve) => {
    execFile(process.execPath, [file, "-p", "."], { cwd }, (_error, stdout, stderr) => resolve(stdout + stderr));
  });
}
