import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** A Markdown page that users read, by its path from the repository's root. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

export function pages(): Page[] {
  const packages = readdirSync(`${root}packages`).map((name) => `packages/${name}/README.md`);
  const docs = readdirSync(`${root}docs`, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".md") && !path.startsWith("."))
    .map((path) => `docs/${path}`);
  return ["README.md", "CONTRIBUTING.md", "examples/README.md", ...packages, ...docs]
    .filter((path) => existsSync(root + path))
    .map((path) => ({ path, text: readFileSync(root + path, "utf8") }));
}

/** The fenced code blocks of a page in one language, with the line at which each starts. */
export function codeBlocks({ text }: Page, language: string): { line: number; code: string }[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return [...text.matchAll(fence)].map(({ index, 1: code }) => ({
    line: text.slice(0, index).split("\n").length + 1,
    code,
  }));
}
