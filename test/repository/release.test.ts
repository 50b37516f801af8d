import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manifest, published, root, text } from "headgate-testkit/repository";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

describe("npm run release", () => {
  const clone = mkdtempSync(join(tmpdir(), "headgate-release-"));

  beforeAll(() => {
    git("clone", "--quiet", root, ".");
    git("config", "user.name", "Test");
    git("config", "user.email", "test@example.com");
    git("tag", "start");
  });

  beforeEach(() => {
    git("reset", "--quiet", "--hard", "start");
    for (const tag of git("tag", "--list", "v7.*").split("\n").filter(Boolean)) git("tag", "--delete", tag);
    commitChangelog("# Changelog\n\n## Unreleased\n\n### Fixed\n\n- A bug.\n\n## 0.1.0\n\n- The first.\n");
  });

  afterAll(() => {
    rmSync(clone, { recursive: true });
  });

  function git(...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync("git", args, { cwd: clone, encoding: "utf8" });
    if (status !== 0) throw new Error(`git ${args.join(" ")}: ${stderr}`);
    return stdout.trim();
  }

  function commitChangelog(text: string): void {
    writeFileSync(join(clone, "CHANGELOG.md"), text);
    git("commit", "--quiet", "--all", "--message", "changelog");
  }

  function release(...args: readonly string[]): { status: number | null; output: string } {
    const script = join(root, "scripts/release.mjs");
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { cwd: clone, encoding: "utf8" });
    return { status, output: stdout + stderr };
  }

  const read = (path: string): string => readFileSync(join(clone, path), "utf8");

  it("only prints what it would do, unless --commit is given", () => {
    const head = git("rev-parse", "HEAD");
    const { status, output } = release("7.8.9");
    expect(output).toContain("would change packages/core/package.json");
    expect(output).toContain("would commit and tag v7.8.9");
    expect(status).toBe(0);
    expect([git("rev-parse", "HEAD"), git("status", "--porcelain"), git("tag", "--list", "v7.8.9")]).toEqual([
      head,
      "",
      "",
    ]);
  });

  it("sets all versions, dates the changelog, commits and tags", () => {
    expect(release("7.8.9", "--commit")).toMatchObject({ status: 0 });
    const manifests = published.map((folder) => JSON.parse(read(`${folder}/package.json`)));
    const names = manifests.map(({ name }) => name);
    const lock = JSON.parse(read("package-lock.json")).packages;
    for (const [index, { version, dependencies = {} }] of manifests.entries()) {
      expect(version).toBe("7.8.9");
      for (const name of names) if (name in dependencies) expect(dependencies[name]).toBe("7.8.9");
      expect(lock[published[index]]).toMatchObject({ version: "7.8.9" });
    }
    expect(JSON.parse(read("bench/package.json")).dependencies.headgate).toBe("7.8.9");
    expect(read("CHANGELOG.md")).toMatch(
      /## Unreleased\n\n## 7\.8\.9 \(\d{4}-\d\d-\d\d\)\n\n### Fixed\n\n- A bug\.\n\n## 0\.1\.0\n/,
    );
    expect(git("status", "--porcelain")).toBe("");
    expect(git("log", "-1", "--format=%s")).toBe("release: 7.8.9");
    expect(git("rev-parse", "v7.8.9^{commit}")).toBe(git("rev-parse", "HEAD"));
  });

  it("leaves a lock file that npm accepts as it is", () => {
    release("7.8.9", "--commit");
    const lock = read("package-lock.json");
    const args = ["install", "--package-lock-only", "--ignore-scripts", "--offline"];
    const { status, stderr } = spawnSync("npm", args, { cwd: clone, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    expect(read("package-lock.json")).toBe(lock);
  });

  it.each([
    ["a version that is not newer", ["0.0.1"], "0.0.1 is not newer than"],
    ["a version that is none", ["next"], "usage:"],
    ["an unknown option", ["7.8.9", "--push"], "usage:"],
  ])("refuses %s", (_, args, reason) => {
    const { status, output } = release(...args);
    expect(output).toContain(reason);
    expect(status).toBe(1);
  });

  it("refuses a working tree with changes, an existing tag and an empty changelog", () => {
    writeFileSync(join(clone, "new-file"), "");
    expect(release("7.8.9")).toMatchObject({ status: 1, output: expect.stringContaining("uncommitted changes") });
    rmSync(join(clone, "new-file"));
    git("tag", "v7.9.0");
    expect(release("7.9.0")).toMatchObject({ status: 1, output: expect.stringContaining("the tag v7.9.0 exists") });
    commitChangelog("# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n- The first.\n");
    expect(release("7.9.1")).toMatchObject({ status: 1, output: expect.stringContaining("nothing under Unreleased") });
  });
});

describe(".github/workflows/release.yml", () => {
  it("publishes every package, each after those that it depends on", () => {
    const [, list] = /for name in (.+); do/.exec(text(".github/workflows/release.yml")) ?? [];
    const names = list?.split(" ") ?? [];
    expect([...names].sort()).toEqual(published.map((folder) => manifest(folder).name).sort());
    for (const folder of published) {
      const { name, dependencies = {} } = manifest(folder);
      const later = names.slice(names.indexOf(name));
      expect(Object.keys(dependencies).filter((dependency) => later.includes(dependency))).toEqual([]);
    }
  });
});
