import { afterAll, beforeAll, expect, it } from "vitest";
import { ruleOf, type Service, startService } from "./service.ts";

const rules = ["a", "b", "c"].map((id) => ruleOf({ rule_id: id, name: id, endpoint_pattern: `/${id}` }));
let service: Service;
beforeAll(async () => {
  service = await startService({ rules });
});
afterAll(() => service.stop());

const JSON_TYPE = { "content-type": "application/json" };

it("a DELETE with a JSON content type and no body is done", async () => {
  expect((await service.ask("DELETE", "/api/v1/rules/a", { headers: JSON_TYPE })).status).toBe(204);
  const headers = { ...JSON_TYPE, "content-length": "0" };
  expect((await service.ask("DELETE", "/api/v1/rules/b", { headers })).status).toBe(204);
});

it("a body that is there is still read, and a POST still needs one", async () => {
  const malformed = await service.ask("DELETE", "/api/v1/rules/c", { headers: JSON_TYPE, body: "{" });
  expect([malformed.status, malformed.body.code]).toEqual([400, "malformed_json"]);
  expect((await service.ask("POST", "/api/v1/rules", { headers: JSON_TYPE })).status).toBe(400);
});
