import { readFileSync } from "node:fs";

/** The text of a page of the documentation, to hold what it says against what was measured. Tables may be aligned or not. */
export function documented(page: string): string {
  return readFileSync(new URL(`../../../docs/${page}`, import.meta.url), "utf8").replace(/ +/g, " ");
}

/** Rows of a Markdown table. */
export function tableRows(rows: readonly (readonly string[])[]): string {
  return rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

export function percent(share: number): string {
  return `${(100 * share).toPrecision(2)} %`;
}
