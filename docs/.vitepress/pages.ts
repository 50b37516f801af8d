import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const docs = fileURLToPath(new URL("..", import.meta.url));

export interface Section {
  readonly title: string;
  readonly folder: string;
  /** The page to begin with. */
  readonly page: string;
}

/** The folders of the documentation, as the table on the home page links to them. */
export function sections(): Section[] {
  const rows = text("index.md").matchAll(/^\| \[(.+?)\]\((([\w-]+)\/[\w-]+\.md)\)/gm);
  return [...rows].map(([, title, page, folder]) => ({ title, folder, page }));
}

/** The pages of a folder without its index: first in the order of the index, then what the index does not mention. */
export function pagesOf(folder: string): string[] {
  const all = readdirSync(join(docs, folder)).filter((file) => file.endsWith(".md") && file !== "index.md");
  const listed = linksOf(`${folder}/index.md`).filter((link) => all.includes(link));
  return [...new Set([...listed, ...all.sort()])].map((file) => `${folder}/${file}`);
}

/** The first heading of a page, as plain text. */
export function titleOf(page: string): string {
  const [, title] = /^# (.+)$/m.exec(text(page)) ?? [];
  if (title === undefined) throw new Error(`docs/${page} has no title: begin it with "# "`);
  return title.replaceAll("`", "");
}

function linksOf(page: string): string[] {
  if (!existsSync(join(docs, page))) return [];
  return [...text(page).matchAll(/\]\(([^)#\s]+)/g)].map(([, target]) => target);
}

function text(page: string): string {
  return readFileSync(join(docs, page), "utf8");
}

/** The address of a page on the site. */
export function addressOf(page: string): string {
  return `/${page.replace(/(index)?\.md$/, "")}`;
}
