import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { envoyFindings } from "./check-envoy.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-envoy-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("counts the limits for Envoy, and repeats warnings", async () => {
  const text = `domain: edge
descriptors:
  - { key: a, detailed_metric: true, rate_limit: { unit: day, requests_per_unit: 1 } }
  - { key: b, descriptors: [{ key: c, rate_limit: { unit: day, requests_per_unit: 1 } }] }
`;
  writeFileSync(join(folder, "edge.yaml"), text);
  expect(await envoyFindings(folder)).toMatchObject([
    { level: "ok", about: "Envoy", message: "2 limits in one domain" },
    { level: "warn", message: expect.stringContaining("edge.yaml:3: descriptors[0].detailed_metric has no effect") },
  ]);
});

it("names what is in the folder and is not read", async () => {
  const text = "domain: edge\ndescriptors: [{ key: a, rate_limit: { unit: day, requests_per_unit: 1 } }]";
  for (const name of ["edge.yaml", "edge.json", ".hidden"]) writeFileSync(join(folder, name), text);
  mkdirSync(join(folder, "config"));
  const ignored = (name: string) => `${join(folder, name)} is ignored: it is not a .yaml or .yml file`;
  expect(await envoyFindings(folder)).toMatchObject([
    { level: "ok" },
    { level: "warn", message: ignored("config") },
    { level: "warn", message: ignored("edge.json") },
  ]);
});

it("reports an empty or missing folder and mistakes in a file", async () => {
  expect(await envoyFindings(folder)).toMatchObject([
    { level: "warn", message: expect.stringContaining("has no limits") },
  ]);
  expect(await envoyFindings(join(folder, "none"))).toMatchObject([
    { level: "fail", message: expect.stringContaining("no such folder") },
  ]);
  writeFileSync(join(folder, "edge.yaml"), "domain: ''");
  expect(await envoyFindings(folder)).toMatchObject([
    { level: "fail", message: expect.stringContaining("edge.yaml:1:9: domain: must not be empty") },
  ]);
});
