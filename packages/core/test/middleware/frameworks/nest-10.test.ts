import { NestFactory } from "@nestjs/core";
import { expect, it, vi } from "vitest";

/** The packages of Nest import each other by name, so those of version 10 lie in a folder of their own. */
const require = await vi.hoisted(async () => {
  const { createRequire } = await import("node:module");
  return createRequire(new URL("../../../../../test/nest-10/package.json", import.meta.url));
});

vi.mock("@nestjs/common", () => import(require.resolve("@nestjs/common")));
vi.mock("@nestjs/core", () => import(require.resolve("@nestjs/core")));

it("is Nest 10 that the tests below run on", () => {
  expect(require("@nestjs/core/package.json").version).toMatch(/^10\./);
  expect(NestFactory).toBe(require("@nestjs/core").NestFactory);
});

await import("./nest.test.ts");
await import("./nest/http.test.ts");
await import("./nest/decoration.test.ts");
await import("./nest/module.test.ts");
await import("./nest/refusal.test.ts");
