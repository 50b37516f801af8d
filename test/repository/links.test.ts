import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { root, text, trackedFiles } from "headgate-testkit/repository";
import { describe, expect, it } from "vitest";
import { githubSlug } from "../../docs/.vitepress/github-slug.ts";
import { pagesOf, sections } from "../../docs/.vitepress/pages.ts";

const pages = trackedFiles("*.md").filter((file) => existsSync(join(root, file)));

/** The text of a page without code, in which brackets and hashes are no links and headings. */
function prose(page: string): string {
  return text(page)
    .replace(/^( *)(`{3,}|~{3,}).*\n[\s\S]*?^\1\2 *$/gm, "")
    .replace(/<!--[\s\S]*?-->/g, "");
}

function linksOf(page: string): string[] {
  const links = prose(page)
    .replace(/`[^`\n]*`/g, "code")
    .matchAll(/\]\((?!https?:|mailto:)([^)\s]+)(?: "[^"]*")?\)/g);
  return [...links].map(([, target]) => target);
}

/** The anchors of a page; the second heading of the same text gets the suffix -1. */
function anchorsOf(page: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = [...prose(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading]) =>
    githubSlug(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/(?<!\w)[*_]+|[*_]+(?!\w)/g, "")),
  );
  return new Set(
    headings.map((slug) => {
      const before = seen.get(slug) ?? 0;
      seen.set(slug, before + 1);
      return before === 0 ? slug : `${slug}-${before}`;
    }),
  );
}

/** What is wrong with a link, if anything. */
function problem(page: string, link: string): string | undefined {
  const [path, anchor] = link.split("#");
  const target = path === "" ? page : normalize(join(dirname(page), path));
  const stats = statSync(join(root, target), { throwIfNoEntry: false });
  if (stats === undefined) return `${page}: ${link}: there is no such file`;
  if (anchor === undefined || !target.endsWith(".md") || anchorsOf(target).has(anchor)) return undefined;
  return `${page}: ${link}: the page has no such heading`;
}

describe("links", () => {
  it("in every page lead to a file and heading that exist", () => {
    const links = pages.flatMap((page) => linksOf(page).map((link) => ({ page, link })));
    expect(links.length).toBeGreaterThan(100);
    expect(links.flatMap(({ page, link }) => problem(page, link) ?? [])).toEqual([]);
  });

  it("are noticed when they are dead", () => {
    expect(problem("README.md", "docs/no-such-page.md")).toContain("no such file");
    expect(problem("README.md", "CONTRIBUTING.md#no-such-heading")).toContain("no such heading");
  });
});

describe("the documentation", () => {
  const folders = [...new Set(trackedFiles("docs/*/*.md").map((file) => file.split("/")[1]))].sort();

  it("has a section on the home page for every folder", () => {
    expect(
      sections()
        .map(({ folder }) => folder)
        .sort(),
    ).toEqual(folders);
  });

  it.each(folders.filter((folder) => existsSync(join(root, "docs", folder, "index.md"))))(
    "lists every page of docs/%s in its index",
    (folder) => {
      const listed = linksOf(`docs/${folder}/index.md`).map((link) => `${folder}/${link.split("#")[0]}`);
      expect(pagesOf(folder).filter((page) => !listed.includes(page))).toEqual([]);
    },
  );
});
