import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startService } from "./service.ts";

interface Operation {
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly example?: unknown } } };
}

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

it("leads to a page to try the routes on", async () => {
  const root = await service.ask("GET", "/", { key: null });
  expect([root.status, root.headers.get("location")]).toEqual([302, "/docs"]);
  const { status, headers, text } = await service.ask("GET", "/docs", { key: null });
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(text).toContain('<html lang="en">');
});

it("loads nothing from elsewhere and runs nothing that stands in the page", async () => {
  const { headers, text } = await service.ask("GET", "/docs", { key: null });
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(text).not.toMatch(/https?:|<script>|<style|style=|\son\w+=/);
  const files = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, file]) => file);
  expect(files.sort()).toEqual(["/docs/icon.svg", "/docs/page.css", "/docs/page.js", "/openapi.json"]);
  for (const file of files) expect((await service.ask("GET", file, { key: null })).status).toBe(200);
});

it("has a script that can be read", async () => {
  const { text } = await service.ask("GET", "/docs/page.js", { key: null });
  expect(() => new Function(text)).not.toThrow();
  expect(text).not.toMatch(/localStorage|sessionStorage|document\.cookie|innerHTML/);
});

it("fills in bodies that are accepted as they are, one after the other", async () => {
  const { body: api } = await service.ask("GET", "/openapi.json");
  await service.ask("DELETE", "/api/v1/rules/orders");
  const took: string[] = [];
  for (const [path, operations] of Object.entries<Record<string, Operation>>(api.paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      if (requestBody === undefined) continue;
      const { example } = requestBody.content["application/json"];
      const concrete = path.replace("{rule_id}", "orders").replace("{user_id}", "12345");
      const { status, text } = await service.ask(method.toUpperCase(), concrete, { body: example });
      expect([path, status], text).toEqual([path, expect.toBeOneOf([200, 201])]);
      took.push(`${method} ${path}`);
    }
  }
  expect(took).toHaveLength(11);
});
