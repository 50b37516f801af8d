import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manifest, root } from "headgate-testkit/repository";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

describe("npm run set-repository", () => {
  const clone = mkdtempSync(join(tmpdir(), "headgate-moved-"));
  const git = (...args: readonly string[]): string => execFileSync("git", args, { cwd: clone, encoding: "utf8" });
  const setRepository = (...args: readonly string[]) =>
    spawnSync(process.execPath, ["scripts/set-repository.mjs", ...args], { cwd: clone, encoding: "utf8" });

  beforeAll(() => {
    git("clone", "--quiet", root, ".");
  });

  afterAll(() => {
    rmSync(clone, { recursive: true });
  });

  it("changes nothing when everything is in line", () => {
    expect(setRepository()).toMatchObject({ status: 0, stderr: "" });
    expect(git("status", "--porcelain")).toBe("");
  });

  it("moves every mention of the repository", () => {
    const { homepage = "" } = manifest(".");
    expect(git("grep", "--files-with-matches", homepage)).toContain("SECURITY.md");
    expect(setRepository("https://github.com/acme/limits")).toMatchObject({ status: 0, stderr: "" });
    expect(spawnSync("git", ["grep", "--line-number", homepage], { cwd: clone, encoding: "utf8" }).stdout).toBe("");
    expect(git("grep", "--files-with-matches", "github.com/acme/limits")).toContain("packages/core/README.md");
  });

  it("rejects what is not the address of a repository", () => {
    expect(setRepository("acme/limits")).toMatchObject({ status: 1, stderr: expect.stringContaining("acme/limits") });
  });
});
