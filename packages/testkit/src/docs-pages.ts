import { existsSync, readdirSync, readFileSync } from "node:fs";
import { root } from "./repository.ts";

/** A Markdown page that users read, by its path from the repository's root. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

export function pages(): Page[] {
  const packages = readdirSync(`${root}/packages`).map((name) => `packages/${name}/README.md`);
  const docs = readdirSync(`${root}/docs`, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.startsWith("."))
    .map((path) => `docs/${path}`);
  return ["README.md", "CONTRIBUTING.md", "examples/README.md", ...packages, ...docs]
    .filter((path) => existsSync(`${root}/${path}`))
    .map((path) => ({ path, text: readFileSync(`${root}/${path}`, "utf8") }));
}

/** The fenced code blocks of a page in one language, with the line at which each starts. */
export function codeBlocks({ text }: Page, language: string): { line: number; code: string }[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return [...text.matchAll(fence)].map(({ index, 1: code }) => ({
    line: text.slice(0, index).split("\n").length + 1,
    code,
  }));
}

/** The text of a page of the documentation, to compare its figures with what was measured. Tables may be aligned or not. */
export function documented(page: string): string {
  return readFileSync(`${root}/docs/${page}`, "utf8").replace(/ +/g, " ");
}

/** Rows of a Markdown table. */
export function tableRows(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function percent(share: number): string {
  return `${(100 * share).toPrecision(2)} %`;
}
