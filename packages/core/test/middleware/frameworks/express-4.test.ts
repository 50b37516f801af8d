import { createRequire } from "node:module";
import express from "express";
import { expect, it, vi } from "vitest";

const require = createRequire(import.meta.url);

vi.mock("express", () => ({ default: createRequire(import.meta.url)("express4") }));

it("is Express 4 that the tests below run on", () => {
  expect(require("express4/package.json").version).toMatch(/^4\./);
  expect(express).toBe(require("express4"));
});

await import("./express.test.ts");
