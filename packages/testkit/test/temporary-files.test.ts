import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

import { root } from "headgate-testkit/repository";
import { collectTemporaryFiles } from "headgate-testkit/temporary-files";
import { expect, it } from "vitest";

it("collects what tests and the processes that they start leave in temporary folders", () => {
  // The global set-up has done so for this run.
  expect(basename(tmpdir())).toMatch(/^headgate-run-\d+-\w+$/);
  const outer = tmpdir();
  const killed = join(outer, `headgate-run-${2 ** 30}-abc`);
  const running = join(outer, `headgate-run-${process.pid}-abc`);
  for (const folder of [killed, running]) mkdirSync(folder);
  const remove = collectTemporaryFiles();
  try {
    const inner = tmpdir();
    expect(inner).not.toBe(outer);
    const leave = 'fs.mkdtempSync(path.join(os.tmpdir(), "left-"))';
    execFileSync(process.execPath, ["-e", leave]);
    writeFileSync(join(inner, "file"), "");
    expect(readdirSync(inner)).toEqual(["file", expect.stringMatching(/^left-/)]);
    remove();
    expect(existsSync(inner)).toBe(false);
    expect(tmpdir()).toBe(outer);
    expect([existsSync(killed), existsSync(running)]).toEqual([false, true]);
  } finally {
    remove();
  }
});

it("removes the folder when the process ends", () => {
  const program = `
    import { tmpdir } from "node:os";
    import { collectTemporaryFiles } from "headgate-testkit/temporary-files";
    collectTemporaryFiles();
    process.stdout.write(tmpdir());
  `;
  const args = ["--input-type=module", "-e", program];
  const folder = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  expect(basename(folder)).toMatch(/^headgate-run-/);
  expect(existsSync(folder)).toBe(false);
});
