import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Manifest, manifest, published, root, text, trackedFiles, workspaces } from "headgate-testkit/repository";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const home = manifest(".").homepage ?? "";

describe("every package.json", () => {
  it.each([".", ...workspaces])("says where the repository is (npm run set-repository): %s", (folder) => {
    const { repository, homepage, bugs, license } = manifest(folder);
    const isRoot = folder === ".";
    expect({ repository, homepage, bugs, license }).toEqual({
      repository: { type: "git", url: `git+${home}.git`, ...(isRoot ? {} : { directory: folder }) },
      homepage: isRoot ? home : `${home}/tree/main/${folder}#readme`,
      bugs: { url: `${home}/issues` },
      license: "MIT",
    });
  });

  it("and every page and template names the same repository", () => {
    const [name] = home.split("/").slice(-1);
    const others = trackedFiles("*.md", "*.yml", "*.yaml", "*.json", "*.service").flatMap((file) =>
      [...text(file).matchAll(new RegExp(`github\\.com[/:][\\w.-]+/${name}\\b`, "g"))]
        .map(([address]) => address)
        .filter((address) => `https://${address}` !== home)
        .map((address) => `${file}: ${address}`),
    );
    expect(others).toEqual([]);
  });
});

describe.each(published)("the published package in %s", (folder) => {
  const packed = mkdtempSync(join(tmpdir(), "headgate-packed-"));
  const content = join(packed, "package");

  beforeAll(() => {
    const script = join(root, "scripts/pack.mjs");
    const file = execFileSync(process.execPath, [script, packed, folder], { encoding: "utf8" }).trim();
    execFileSync("tar", ["-xzf", file, "-C", packed]);
  });

  afterAll(() => {
    rmSync(packed, { recursive: true });
  });

  const read = (path: string): string => readFileSync(join(content, path), "utf8");

  function files(): string[] {
    return readdirSync(content, { recursive: true, encoding: "utf8", withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => join(parentPath, name).slice(content.length + 1));
  }

  it("has the metadata that the registry shows", () => {
    const shown: Manifest = JSON.parse(read("package.json"));
    expect(shown.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(shown.description).toMatch(/^[A-Z].{30,}[^.]$/);
    expect(shown.keywords).toContain("rate limit");
    expect(shown.engines).toEqual(manifest(".").engines);
  });

  it("needs the same version of the other packages as its own", () => {
    const { version, dependencies = {} } = manifest(folder);
    const names = published.map((other) => manifest(other).name);
    for (const [name, wanted] of Object.entries(dependencies)) if (names.includes(name)) expect(wanted).toBe(version);
  });

  it("has the license and a README, and no sources, maps, tests or build state", () => {
    const all = files();
    expect(all).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    expect(all.filter((file) => /^src\/|\.map$|\.test\.|tsbuildinfo|(?<!\.d)\.ts$/.test(file))).toEqual([]);
    const mapped = all.filter((file) => file.endsWith(".js") && read(file).includes("//# sourceMappingURL="));
    expect(mapped).toEqual([]);
  });

  it.runIf(folder === "packages/server")("has the dashboard", () => {
    const page = read("dist/dashboard/index.html");
    const named = [...page.matchAll(/"\/(assets\/[^"]+)"/g)].map(([, file]) => `dist/dashboard/${file}`);
    expect(named.length).toBeGreaterThan(2);
    expect(files()).toEqual(expect.arrayContaining(named));
  });

  it("has every file that its package.json names, and nothing there for developers", () => {
    const { exports, ...shown } = JSON.parse(read("package.json"));
    const targets = [...JSON.stringify({ exports, main: shown.main, bin: shown.bin }).matchAll(/"\.\/([^"]+\.\w+)"/g)];
    const all = files();
    // The keys of `exports` begin with ./, too.
    const keys = Object.keys(exports ?? {}).map((key) => key.slice(2));
    expect(targets.map(([, file]) => file).filter((file) => !all.includes(file) && !keys.includes(file))).toEqual([]);
    expect(JSON.stringify(exports ?? {})).not.toContain('"source"');
    expect(Object.keys(shown).filter((field) => /^(scripts|devDependencies|size-limit)$/.test(field))).toEqual([]);
  });

  it("has a README whose links work on a registry page", () => {
    const links = [...read("README.md").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
    expect(links.length).toBeGreaterThan(0);
    expect(links.filter((link) => !link.startsWith("https://"))).toEqual([]);
    const tracked = trackedFiles();
    const paths = links.filter((link) => link.startsWith(`${home}/`)).map((link) => link.slice(home.length + 1));
    const dead = paths.filter((path) => {
      const [, kind, target] = /^(blob|tree)\/main\/([^#]+)/.exec(path) ?? [];
      return !tracked.some((file) => (kind === "blob" ? file === target : file.startsWith(`${target}/`)));
    });
    expect(dead).toEqual([]);
  });

  it("passes publint", () => {
    const publint = join(root, "node_modules/publint/src/cli.js");
    expect(() => execFileSync(process.execPath, [publint, "--strict", content], { stdio: "pipe" })).not.toThrow();
  });
});
