import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { suites } from "../suites.ts";
import { benchmarksPage } from "./benchmarks-page.ts";
import { readMeasuredSuites } from "./measured-suites.ts";

test("the page is what follows from the measured figures", () => {
  const page = readFileSync(new URL("../../../docs/internals/benchmarks.md", import.meta.url), "utf8");
  expect(page).toBe(benchmarksPage(suites, readMeasuredSuites()));
});
