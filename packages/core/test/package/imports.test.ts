import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { importsOf, manifest, packageOf, repository, sourceFiles } from "./workspaces.ts";

/** The arrows of docs/architecture.md: which of our own packages each may import. A new workspace gets its line here. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  headgate: [],
  "headgate-cli": ["headgate"],
  "headgate-bench": ["headgate"],
};

const folders = manifest(".").workspaces ?? [];

describe("the library", () => {
  it("depends on nothing", () => {
    const { dependencies, peerDependencies, optionalDependencies } = manifest("packages/core");
    expect({ dependencies, peerDependencies, optionalDependencies }).toEqual({});
  });

  it("imports nothing but its own files", () => {
    const files = sourceFiles("packages/core");
    expect(files.length).toBeGreaterThan(20);
    const foreign = files.flatMap((file) =>
      importsOf(file)
        .filter((specifier) => !specifier.startsWith("."))
        .map((specifier) => `${relative(repository, file)} imports ${specifier}`),
    );
    expect(foreign).toEqual([]);
  });
});

describe("the workspaces", () => {
  it("are those whose arrows are known", () => {
    expect(folders.map((folder) => manifest(folder).name).sort()).toEqual(Object.keys(arrows).sort());
  });

  it.each(folders)("import along the arrows, and what they list: %s", (folder) => {
    const { name, dependencies = {} } = manifest(folder);
    const wrong = sourceFiles(folder).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => !allowed(specifier, file, folder, dependencies, arrows[name]))
        .map((specifier) => `${relative(repository, file)} imports ${specifier}`),
    );
    expect(wrong).toEqual([]);
  });

  it.each(folders)("list no other of ours than the arrows say: %s", (folder) => {
    const { name, dependencies = {} } = manifest(folder);
    const ours = Object.keys(dependencies).filter((dependency) => dependency in arrows);
    expect(ours.filter((dependency) => !arrows[name].includes(dependency))).toEqual([]);
  });
});

function allowed(
  specifier: string,
  file: string,
  folder: string,
  dependencies: Readonly<Record<string, string>>,
  arrows: readonly string[],
): boolean {
  if (specifier.startsWith("node:")) return true;
  if (specifier.startsWith(".")) return inside(join(repository, folder), resolve(dirname(file), specifier));
  const name = packageOf(specifier);
  return name in dependencies && (!isOurs(name) || arrows.includes(name));
}

function isOurs(name: string): boolean {
  return folders.some((folder) => manifest(folder).name === name);
}

function inside(folder: string, file: string): boolean {
  return !relative(folder, file).startsWith("..");
}
