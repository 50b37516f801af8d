import { afterAll, beforeAll, expect, it } from "vitest";
import { type Service, startService } from "./service.ts";

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
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
      "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(text).not.toMatch(/https?:|<script>|<style|style=|\son\w+=/);
  const files = [...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, file]) => file);
  expect(files.sort()).toEqual(["/docs/page.css", "/docs/page.js", "/openapi.json"]);
  for (const file of files) expect((await service.ask("GET", file, { key: null })).status).toBe(200);
});

it("has a script that can be read", async () => {
  const { text } = await service.ask("GET", "/docs/page.js", { key: null });
  expect(() => new Function(text)).not.toThrow();
  expect(text).not.toMatch(/localStorage|sessionStorage|document\.cookie|innerHTML/);
});

it("fills in bodies that are accepted as they are", async () => {
  const { text } = await service.ask("GET", "/docs/page.js", { key: null });
  const [source] = /function exampleOf[\s\S]*?\n}\n/.exec(text) ?? [];
  const exampleOf = new Function(`${source}; return exampleOf;`)();
  const { body: api } = await service.ask("GET", "/openapi.json");
  const filled: [string, string, string][] = [
    ["POST", "/api/v1/rules", "/api/v1/rules"],
    ["PUT", "/api/v1/rules/{rule_id}", "/api/v1/rules/orders"],
    ["PUT", "/api/v1/users/{user_id}/tier", "/api/v1/users/7/tier"],
    ["POST", "/api/v1/users/{user_id}/override", "/api/v1/users/7/override"],
    ["POST", "/api/v1/check", "/api/v1/check"],
    ["POST", "/api/v1/keys", "/api/v1/keys"],
  ];
  for (const [method, route, path] of filled) {
    const { schema } = api.paths[route][method.toLowerCase()].requestBody.content["application/json"];
    const { status, body } = await service.ask(method, path, { body: exampleOf(schema) });
    // There may be such a rule already.
    expect([route, status < 300 ? "done" : body.code]).toEqual([route, expect.stringMatching(/^(done|rule_exists)$/)]);
  }
});
