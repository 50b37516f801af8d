import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Result } from "./results.ts";

/** What one run of `--write` measured of a suite. */
export interface MeasuredSuite {
  readonly quick: boolean;
  /** Where and when, as `name: value` lines. */
  readonly machine: readonly (readonly [name: string, value: string])[];
  /** Versions of the packages and programs that took part. */
  readonly versions: readonly (readonly [name: string, version: string])[];
  readonly measured: readonly { readonly version: string; readonly results: readonly Result[] }[];
}

/** The figures of the page by suite: kept so that one suite can be measured again without the others. */
export type MeasuredSuites = Readonly<Record<string, MeasuredSuite>>;

const FILE = new URL("../../results.json", import.meta.url);

export function readMeasuredSuites(): MeasuredSuites {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, "utf8")) : {};
}

export function writeMeasuredSuites(suites: MeasuredSuites): void {
  writeFileSync(FILE, `${JSON.stringify(suites, undefined, 1)}\n`);
}
