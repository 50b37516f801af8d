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

it("has examples of bodies that are accepted as they are, one after the other", async () => {
  const { body: api } = await service.ask("GET", "/openapi.json");
  await service.ask("DELETE", "/api/v1/rules/orders");
  const took: string[] = [];
  for (const [path, operations] of Object.entries<Record<string, Operation>>(api.paths)) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      const { example } = requestBody?.content["application/json"] ?? {};
      if (example === undefined || path.includes("{reservation_id}")) continue;
      const concrete = path.replace("{rule_id}", "orders").replace("{user_id}", "12345");
      const { status, text } = await service.ask(method.toUpperCase(), concrete, { body: example });
      expect([path, status], text).toEqual([path, expect.toBeOneOf([200, 201])]);
      took.push(`${method} ${path}`);
    }
  }
  expect(took).toHaveLength(15);
});
