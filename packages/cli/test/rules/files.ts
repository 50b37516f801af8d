import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export interface Fields {
  readonly name: string;
  readonly [field: string]: string | number | null | readonly string[];
}

/** A rule with what a test states, and the rest as it may be. */
export function rule(fields: Fields): Fields {
  return { dimension: "user", endpoint_pattern: `/${fields.name}`, limit: 100, window_seconds: 60, ...fields };
}

export function rulesYaml(...rules: Fields[]): string {
  return `rules:\n${rules.map((fields) => `  - ${JSON.stringify(rule(fields))}\n`).join("")}`;
}

/** A folder for the test alone, with these files in it. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "headgate-cli-rules-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}
