import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const repository = fileURLToPath(new URL("../../../..", import.meta.url)).replace(/\/$/, "");

/** What a package.json of ours says about imports. */
export interface Manifest {
  readonly name: string;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | { readonly source: string }>>;
}

export function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(repository, folder, "package.json"), "utf8"));
}

/** The files of a workspace that run for its users: not its tests. */
export function sourceFiles(folder: string): string[] {
  return ["src", "bin"]
    .map((part) => join(repository, folder, part))
    .filter((part) => existsSync(part))
    .flatMap((part) => readdirSync(part, { recursive: true, encoding: "utf8" }).map((file) => join(part, file)))
    .filter((file) => /\.[cm]?[jt]sx?$/.test(file) && !/\.test\.[cm]?tsx?$/.test(file));
}

/** What a file imports, types too: static, dynamic, for its effect, and by `require`. */
export function importsOf(file: string): string[] {
  const text = readFileSync(file, "utf8").replace(/^\s*(\/\/|\*|\/\*).*$/gm, "");
  const forms = [
    /\bfrom\s+["']([^"'\s]+)["']/g,
    /^\s*import\s*["']([^"'\s]+)["']/gm,
    /\bimport\s*\(\s*["'`]([^"'`]+)["'`]/g,
    /\brequire(?:\.resolve)?\s*\(\s*["'`]([^"'`]+)["'`]/g,
  ];
  return forms.flatMap((form) => [...text.matchAll(form)].map(([, specifier]) => specifier));
}

/** The package that an import names: `headgate/testing` is of `headgate`. */
export function packageOf(specifier: string): string {
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
