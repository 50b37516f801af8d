import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository, without a trailing slash. */
export const root = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly private?: boolean;
  readonly description?: string;
  readonly keywords?: readonly string[];
  readonly license?: string;
  readonly engines?: { readonly node?: string };
  readonly homepage?: string;
  readonly bugs?: { readonly url: string };
  readonly repository?: { readonly type: string; readonly url: string; readonly directory?: string };
  readonly workspaces?: readonly string[];
  readonly exports?: Readonly<Record<string, string | { readonly source: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

export function manifest(folder: string): Manifest {
  return JSON.parse(text(`${folder}/package.json`));
}

export const workspaces: readonly string[] = manifest(".").workspaces ?? [];

/** The folders of the packages that are released to npm. */
export const published: readonly string[] = workspaces.filter((folder) => !manifest(folder).private);

/** The text of a file, by its path from the root. */
export function text(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

/** The paths of all files under version control, and of new files that git does not ignore. */
export function trackedFiles(...patterns: readonly string[]): string[] {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", ...patterns];
  return execFileSync("git", list, { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean);
}

/** The files of a workspace that run for its users: not its tests. */
export function sourceFiles(folder: string): string[] {
  return ["src", "bin"]
    .map((part) => join(root, folder, part))
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
