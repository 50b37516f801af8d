import { createRequire } from "node:module";
import koa from "koa";
import { expect, it, vi } from "vitest";

const require = createRequire(import.meta.url);

vi.mock("koa", () => ({ default: createRequire(import.meta.url)("koa2") }));

it("is Koa 2 that the tests below run on", () => {
  expect(require("koa2/package.json").version).toMatch(/^2\./);
  expect(koa).toBe(require("koa2"));
});

await import("./koa.test.ts");
