import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

/** A Markdown page that users read, by its path from the repository's root. */
export interface Page {
  readonly path: string;
  readonly text: string;
}

/** The pages that git knows or would add. */
export function pages(): Page[] {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "*.md"], { cwd: root, encoding: "utf8" });
  const paths = listed.split("\n").filter((path) => path !== "" && existsSync(root + path));
  return paths.map((path) => ({ path, text: readFileSync(root + path, "utf8") }));
}

/** The fenced code blocks of a page in one language, with the line at which each starts. */
export function codeBlocks({ text }: Page, language: string): { line: number; code: string }[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return [...text.matchAll(fence)].map(({ index, 1: code }) => ({
    line: text.slice(0, index).split("\n").length + 1,
    code,
  }));
}
