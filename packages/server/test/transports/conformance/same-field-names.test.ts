import { afterAll, beforeAll, expect, it } from "vitest";
import { checkRules } from "../../../src/rules/validate-rules-file.ts";
import { by, call, served as grpcServed } from "../grpc/fixtures.ts";
import { Dimension } from "../grpc/generated/headgate/v1/rate_limiter.ts";
import { type Service, startService } from "../rest/service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** The field of the first error of a REST response. */
async function restField(method: string, path: string, body: object): Promise<string> {
  const answer = await service.ask(method, path, { body });
  return answer.body.errors[0].field;
}

it("a field in a list has the same name in REST, gRPC and rules files", async () => {
  const check = { identifier: "1", endpoint: "/", cost: 1 };
  const checks = [check, { ...check, cost: -1 }];
  expect(await restField("POST", "/api/v1/reservations", { checks })).toBe("checks[1].cost");
  const { client } = await grpcServed([]);
  const asked = checks.map((each) => ({ ...each, dimension: Dimension.DIMENSION_USER, method: "" }));
  const request = { checks: asked, forMs: 1_000, maxWaitMs: 0, idempotencyKey: "" };
  await expect(call(client, client.reserve, request, by("check"))).rejects.toThrow("checks[1].cost: ");

  const rules = [{ name: "a", dimension: "user", endpoint_pattern: "/", limit: 0, window_seconds: 60 }];
  expect(await restField("PUT", "/api/v1/rules", { rules })).toBe("rules[0].limit");
  expect(checkRules(JSON.stringify({ rules }))).toMatchObject({ problems: [{ field: "rules[0].limit" }] });
});

it("a name in digits is not an index", async () => {
  const body = { custom_limits: { "0": { limit: -1 } } };
  expect(await restField("PUT", "/api/v1/users/1/limits", body)).toBe("custom_limits.0.limit");
});
