import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PERMISSIONS } from "../../../src/access/permissions.ts";
import { PROBLEMS } from "../../../src/transports/rest/problem.ts";

function page(name: string): string {
  return readFileSync(new URL(`../../../../../docs/${name}`, import.meta.url), "utf8");
}

function rows(text: string, form: RegExp): string[][] {
  return [...text.matchAll(form)].map(([, ...cells]) => cells);
}

it("has every problem in docs/service/errors.md", () => {
  const documented = rows(page("service/errors.md"), /^\| `([a-z_]+)` \| (\d{3}) \|$/gm);
  expect(documented).toEqual(Object.entries(PROBLEMS).map(([code, { status }]) => [code, String(status)]));
});

it("has every route and its role in docs/service/access.md", () => {
  const documented = rows(page("service/access.md"), /^\| `((?:GET|POST|PUT|PATCH|DELETE) [^`]*)` \| (\w+) \|$/gm);
  expect(documented).toEqual(Object.entries(PERMISSIONS));
});

it("has every route of the API in docs/service/rest.md, access.md or reverse-proxies.md", () => {
  const text = ["rest", "access", "reverse-proxies"].map((name) => page(`service/${name}.md`)).join("");
  for (const route of Object.keys(PERMISSIONS).filter((route) => route.includes("/api/"))) {
    expect(text).toContain(route.replaceAll(/:(\w+)/g, "{$1}").replace(/^\w+ /, ""));
  }
});
