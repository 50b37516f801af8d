import { existsSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { importsOf, manifest, packageOf, root, sourceFiles, trackedFiles } from "headgate-testkit/repository";
import { describe, expect, it } from "vitest";

/** The arrows of docs/internals/architecture.md: which of our own packages each may import. A new workspace gets its line here. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  headgate: [],
  "headgate-nest-10": [],
  "headgate-server": ["headgate"],
  "headgate-cli": ["headgate", "headgate-server", "headgate-simulator"],
  "headgate-simulator": ["headgate"],
  "headgate-dashboard": ["headgate", "headgate-server", "headgate-simulator"],
  "headgate-testkit": ["headgate"],
  "headgate-bench": ["headgate", "headgate-server", "headgate-simulator", "headgate-testkit"],
  "headgate-examples": ["headgate", "headgate-cli"],
};

const folders = manifest(".").workspaces ?? [];
const library = manifest("packages/core");

/**
 * What entry points of the library may import besides their own files. An entry point with the name of an optional peer
 * may import that peer and Node, and others nothing; exceptions are listed here. "node" stands for every built-in module
 * of Node: entry points without it also run in browsers and at the edge.
 */
const allowedImports: Readonly<Record<string, readonly string[]>> = {
  "./express-rate-limit": ["express", "node"],
  "./hono": ["hono"],
  "./nest": ["@nestjs/common", "node"],
  "./redis": ["ioredis", "node"],
  "./zookeeper": ["node", "node-zookeeper-client"],
};

const { "./package.json": _, ...entryPoints } = library.exports ?? {};

function importsAllowedIn(entryPoint: string): readonly string[] {
  const name = entryPoint.slice("./".length);
  return allowedImports[entryPoint] ?? (name in (library.peerDependencies ?? {}) ? [name, "node"] : []);
}

describe("the library", () => {
  it("has no dependencies: what an entry point needs is an optional peer", () => {
    const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {}, optionalDependencies = {} } = library;
    expect({ dependencies, optionalDependencies }).toEqual({ dependencies: {}, optionalDependencies: {} });
    const optional = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional);
    expect(optional).toEqual(Object.keys(peerDependencies));
    // A client of these libraries is passed in by the user, so nothing imports them.
    const needed = [...Object.keys(entryPoints).flatMap(importsAllowedIn), "iovalkey", "redis"];
    expect(optional.filter((name) => !needed.includes(name))).toEqual([]);
  });

  it("lists imports of existing entry points only", () => {
    expect(Object.keys(allowedImports).filter((entryPoint) => !(entryPoint in entryPoints))).toEqual([]);
  });

  it.each(Object.entries(entryPoints))(
    "imports through %s what that entry point may, and nothing else",
    (name, entry) => {
      if (typeof entry !== "object") throw new Error(`${name} has no source`);
      const allowed = importsAllowedIn(name);
      const foreign = foreignImports(resolve(root, "packages/core", entry.source));
      expect([...new Set(foreign)].filter((specifier) => !allowed.includes(specifier))).toEqual([]);
      expect(allowed.filter((specifier) => !foreign.includes(specifier))).toEqual([]);
    },
  );
});

describe("the simulator", () => {
  it("runs in browsers: nothing in it needs Node, except for the simulation of clusters", () => {
    const needed = (entry: string): string[] => foreignImports(resolve(root, "packages/simulator/src", entry));
    const browsers = /^headgate(\/http|\/store|\/testing)?$/;
    for (const entry of ["index.ts", "virtual-time.ts"]) {
      expect(needed(entry).filter((specifier) => !browsers.test(specifier))).toEqual([]);
    }
    const others = new Set(needed("cluster.ts").filter((specifier) => !browsers.test(specifier)));
    expect([...others]).toEqual(["headgate/redis"]);
  });
});

/** What a file and all that it imports import from elsewhere. */
function foreignImports(entry: string): string[] {
  const seen = new Set<string>();
  const foreign: string[] = [];
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const specifier of importsOf(file)) {
      if (specifier.startsWith(".")) visit(resolve(dirname(file), specifier));
      else foreign.push(specifier.startsWith("node:") ? "node" : specifier);
    }
  };
  visit(entry);
  return foreign;
}

describe("the workspaces", () => {
  it("import nothing from the tests of another workspace: the testkit has what they share", () => {
    const files = trackedFiles("*.ts").filter((file) => existsSync(join(root, file)));
    const foreign = files.flatMap((file) =>
      importsOf(join(root, file))
        .filter((specifier) => specifier.startsWith("."))
        .map((specifier) => relative(root, resolve(root, dirname(file), specifier)))
        .filter((target) => {
          const [, folder] = /^((?:packages\/)?[^/]+)\/test\//.exec(target) ?? [];
          return folder !== undefined && !file.startsWith(`${folder}/`);
        })
        .map((target) => `${file} imports ${target}`),
    );
    expect(foreign).toEqual([]);
  });

  it("are those whose arrows are known", () => {
    expect(folders.map((folder) => manifest(folder).name).sort()).toEqual(Object.keys(arrows).sort());
  });

  it.each(folders)("import along the arrows, and what they list: %s", (folder) => {
    const { name, dependencies = {}, peerDependencies = {} } = manifest(folder);
    const listed = { ...dependencies, ...peerDependencies };
    const wrong = sourceFiles(folder).flatMap((file) =>
      importsOf(file)
        .filter((specifier) => !allowed(specifier, file, folder, listed, arrows[name]))
        .map((specifier) => `${relative(root, file)} imports ${specifier}`),
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
  if (specifier.startsWith(".")) return inside(join(root, folder), resolve(dirname(file), specifier));
  const name = packageOf(specifier);
  return name in dependencies && (!isOurs(name) || arrows.includes(name));
}

function isOurs(name: string): boolean {
  return folders.some((folder) => manifest(folder).name === name);
}

function inside(folder: string, file: string): boolean {
  return !relative(folder, file).startsWith("..");
}
