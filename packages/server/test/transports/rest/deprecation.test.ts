import { afterEach, expect, it } from "vitest";
import { type Service, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

it("announces deprecations in headers and in the OpenAPI document, also in rejected requests", async () => {
  const since = new Date("2026-01-01T00:00:00Z");
  const sunset = new Date("2026-07-01T00:00:00Z");
  const deprecation = { since, sunset, link: "https://example.com/v2" };
  service = await startService({ parts: () => ({ deprecations: { "GET /api/v1/rules": deprecation } }) });
  for (const key of [service.keys.read, null]) {
    const { headers } = await service.ask("GET", "/api/v1/rules", { key });
    expect(headers.get("deprecation")).toBe("@1767225600");
    expect(headers.get("sunset")).toBe("Wed, 01 Jul 2026 00:00:00 GMT");
    expect(headers.get("link")).toBe('<https://example.com/v2>; rel="deprecation"; type="text/html"');
  }
  expect((await service.ask("POST", "/api/v1/rules", { body: {} })).headers.get("deprecation")).toBeNull();
  const { body } = await service.ask("GET", "/openapi.json");
  expect(body.paths["/api/v1/rules"].get.deprecated).toBe(true);
  expect(body.paths["/api/v1/rules"].post.deprecated).toBeUndefined();
});

it("announces nothing now", async () => {
  service = await startService();
  const { text, headers } = await service.ask("GET", "/openapi.json");
  expect(text).not.toContain('"deprecated"');
  expect(headers.get("deprecation")).toBeNull();
});
