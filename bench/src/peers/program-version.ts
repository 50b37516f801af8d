import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const UNKNOWN = "of an unknown version";
const VERSION = /\bv?(\d+\.\d+\.\d+[\w.-]*)/;

/** What a program answers to `--version`. */
export function printedVersion(program: string): string {
  return versionIn(outputOf(program, ["--version"]));
}

/** gubernator logs its version when it starts, so it is started with a setting that it refuses. */
export function startedVersion(program: string): string {
  return versionIn(outputOf(program, [], { GUBER_PEER_DISCOVERY_TYPE: "unknown", OTEL_TRACES_EXPORTER: "none" }));
}

/** The version of the main module that Go writes into a program. */
export function goModuleVersion(program: string): string {
  const [, version] = /\nmod\t[^\t\n]+\t([^\t\n]+)/.exec(readFileSync(program, "latin1")) ?? [];
  return version === undefined ? UNKNOWN : versionIn(version);
}

function versionIn(text: string): string {
  return VERSION.exec(text)?.[1] ?? UNKNOWN;
}

function outputOf(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const { stdout, stderr } = spawnSync(program, args, { encoding: "utf8", env: { ...process.env, ...env } });
  return `${stdout}${stderr}`;
}
