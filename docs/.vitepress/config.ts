import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";
import { githubSlug } from "./github-slug.ts";
import { addressOf, pagesOf, sections, titleOf } from "./pages.ts";
import { repositoryLinks } from "./repository-links.ts";

const { homepage } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));

export default defineConfig({
  title: "Headgate",
  description: "Rate limiting for Node.js, and a service for every other language",
  lang: "en",
  cleanUrls: true,
  // The playground is compiled from the sources of the packages.
  vite: { resolve: { conditions: ["source"] } },
  markdown: {
    anchor: { slugify: githubSlug },
    config: (md) => md.use(repositoryLinks, homepage),
  },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: sections().map(({ title, page }) => ({ text: title, link: addressOf(page) })),
    sidebar: sections().map(({ title, folder, page }) => ({
      text: title,
      link: addressOf(page),
      collapsed: false,
      items: pagesOf(folder).map((item) => ({ text: titleOf(item).split(": ")[0], link: addressOf(item) })),
    })),
    socialLinks: [{ icon: "github", link: homepage }],
    editLink: { pattern: `${homepage}/edit/main/docs/:path` },
  },
});
