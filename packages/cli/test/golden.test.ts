import { readdirSync, readFileSync } from "node:fs";
import { headgate } from "headgate-testkit/headgate-command";
import { expect, test } from "vitest";

const folder = new URL("golden/", import.meta.url).pathname;
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .map((name) => name.slice(0, -".json".length));

test.concurrent.each(names)("%s, byte for byte", async (name) => {
  const run = await headgate(["scenario", "--file", `${folder}${name}.json`]);
  expect(run).toEqual({ stdout: readFileSync(`${folder}${name}.expected.jsonl`, "utf8"), stderr: "", code: 0 });
});

test("from standard input just the same", async () => {
  const run = await headgate(["scenario", "--file", "-"], {
    stdin: readFileSync(`${folder}scenario-3-tiers.json`, "utf8"),
  });
  expect(run.stdout).toBe(readFileSync(`${folder}scenario-3-tiers.expected.jsonl`, "utf8"));
});
