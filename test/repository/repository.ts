import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The root of the repository, without a trailing slash. */
export const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

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
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
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
