import { existsSync, readdirSync } from "node:fs";
import { algorithms } from "headgate";
import { manifest, root, text } from "headgate-testkit/repository";
import { describe, expect, it } from "vitest";

function foldersOf(path: string): string[] {
  return readdirSync(`${root}/${path}`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

/** The adapters that users import, apart from the replacement for express-rate-limit, which is a way to migrate. */
const frameworks = Object.keys(manifest("packages/core").exports ?? {})
  .map((entryPoint) => entryPoint.slice("./".length))
  .filter((name) => existsSync(`${root}/packages/core/src/middleware/${name}.ts`) && name !== "express-rate-limit");

const transports = foldersOf("packages/server/src/transports").filter((name) => name !== "shared");

describe.each([
  ["stores", [...foldersOf("packages/core/src/stores"), ...foldersOf("packages/core/src/wrappers")]],
  ["frameworks", frameworks],
  ["service", transports],
])("docs/%s", (section, names) => {
  it.each(names)("has a page about %s, and a row in its index", (name) => {
    expect(existsSync(`${root}/docs/${section}/${name}.md`)).toBe(true);
    expect(text(`docs/${section}/index.md`)).toContain(`(${name}.md)`);
  });
});

it("docs/guide/library.md lists the builder of every algorithm", () => {
  expect(frameworks).toContain("express");
  const page = text("docs/guide/library.md");
  expect(Object.keys(algorithms).filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([]);
});
