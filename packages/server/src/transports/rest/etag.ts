import type { Conflict } from "../../database/database.ts";
import { fieldProblem, Problem, type ProblemCode } from "./problem.ts";

const TAGS = /^(?:W\/)?"[\x21\x23-\x7e]*"(?:[ \t]*,[ \t]*(?:W\/)?"[\x21\x23-\x7e]*")*$/;

export function etagOf({ version }: { readonly version: number }): string {
  return `"${version}"`;
}

/**
 * The version that a resource must have to be changed; undefined for any version. If a request has several tags, the
 * current one among them counts.
 */
export async function expectedVersion(
  ifMatch: string | undefined,
  current: () => Promise<number | undefined>,
): Promise<number | undefined> {
  if (ifMatch === undefined) return undefined;
  if (ifMatch.trim() === "*") {
    // RFC 9110: it must exist.
    if ((await current()) === undefined)
      throw new Problem("version_changed", "the resource does not exist, so * does not match");
    return undefined;
  }
  if (!TAGS.test(ifMatch.trim())) {
    throw fieldProblem("header", "If-Match", 'must be * or quoted ETags such as "3"');
  }
  // Weak tags never match: this service does not issue any.
  const versions = ifMatch.split(",").map((tag) => Number(/^"(\d{1,15})"$/.exec(tag.trim())?.[1] ?? -1));
  if (versions.length === 1) return versions[0];
  const version = await current();
  return version !== undefined && versions.includes(version) ? version : -1;
}

/** Returns what was stored, or throws the problem. */
export function requireDone<Stored extends object>(
  stored: Stored | Conflict,
  { missing, exists = missing }: { readonly missing: ProblemCode; readonly exists?: ProblemCode },
): Stored {
  if (!("conflict" in stored)) return stored;
  const { conflict, current } = stored;
  if (conflict === "missing") throw new Problem(missing);
  if (conflict === "exists") throw new Problem(exists);
  const headers: Record<string, string> = current === undefined ? {} : { etag: etagOf({ version: current }) };
  throw new Problem("version_changed", undefined, { headers });
}
