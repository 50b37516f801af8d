import { statSync } from "node:fs";
import { join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import type { MarkdownEnv, MarkdownRenderer } from "vitepress";

const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * A markdown-it plugin. Pages link to source files and examples by relative paths, which work on GitHub but are not part
 * of the site: there, such a link goes to the repository. A path that does not exist stays as it is, and fails the build.
 */
export function repositoryLinks(md: MarkdownRenderer, repository: string): void {
  md.core.ruler.push("repository_links", ({ tokens, env }) => {
    const { relativePath }: MarkdownEnv = env;
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href === null || /^([a-z]+:|[/#])/.test(href)) continue;
      const [path, anchor] = posix.join("docs", posix.dirname(relativePath), href).split("#");
      if (path.startsWith("docs/")) continue;
      const stats = statSync(join(root, path), { throwIfNoEntry: false });
      if (stats === undefined) continue;
      const kind = stats.isDirectory() ? "tree" : "blob";
      token.attrSet("href", `${repository}/${kind}/main/${path}${anchor === undefined ? "" : `#${anchor}`}`);
    }
  });
}
