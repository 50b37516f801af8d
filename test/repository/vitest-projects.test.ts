import { root, text, trackedFiles } from "headgate-testkit/repository";
import { expect, it } from "vitest";
import { createVitest } from "vitest/node";

it("tests that replace modules run in processes of their own", { timeout: 120_000 }, async () => {
  const vitest = await createVitest("test", { root, watch: false });
  try {
    const shared = (await vitest.globTestSpecifications())
      .filter(({ project }) => project.config.isolate === false)
      .map(({ moduleId }) => moduleId.slice(root.length).replace(/^\//, ""));
    expect(shared.length).toBeGreaterThan(100);
    const replacing = trackedFiles("*.test.ts").filter((file) => /^vi\.mock\(/m.test(text(file)));
    expect(replacing.length).toBeGreaterThan(0);
    expect(replacing.filter((file) => shared.includes(file))).toEqual([]);
  } finally {
    await vitest.close();
  }
});
