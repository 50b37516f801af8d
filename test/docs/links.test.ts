import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pages } from "headgate-testkit/docs-pages";
import { root } from "headgate-testkit/repository";
import { expect, it } from "vitest";

/** The anchors that GitHub and VitePress give to the headings of a page. */
function anchorsOf(text: string): Set<string> {
  const headings = withoutCode(text).matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, title]) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, "")
        .trim()
        .replace(/\s/g, "-"),
    ),
  );
}

function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, "");
}

it.each(pages().map(({ path, text }) => ({ path, text })))("every link of $path leads somewhere", ({ path, text }) => {
  const dead: string[] = [];
  for (const [, link] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(link)) continue;
    const [target, anchor] = link.split("#");
    const file = target === "" ? path : relative(".", join(dirname(path), target));
    if (!existsSync(join(root, file))) dead.push(link);
    else if (anchor !== undefined && !anchorsOf(readFileSync(join(root, file), "utf8")).has(anchor)) dead.push(link);
  }
  expect(dead).toEqual([]);
});
