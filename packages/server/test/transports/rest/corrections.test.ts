import { afterEach, describe, expect, it } from "vitest";
import { type Ask, ruleOf, type Service, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

const ORDER = { identifier: "42", dimension: "user", endpoint: "/api/v1/orders" };

function ask(route: string, body: object, more: Ask = {}) {
  return service.ask("POST", `/api/v1/${route}`, { body, key: service.keys.check, ...more });
}

describe("POST /api/v1/refund and /penalize", () => {
  it("return and charge units, and answer with the state afterwards", async () => {
    service = await startService();
    await ask("check", { ...ORDER, cost: 3 });
    const refunded = await ask("refund", { ...ORDER, cost: 2, with_limits: true });
    expect(refunded).toMatchObject({
      status: 200,
      body: { allowed: true, remaining: 2, rule_id: "orders", limits: [{ rule_id: "orders", remaining: 2 }] },
    });
    const penalized = await ask("penalize", { ...ORDER, cost: 5 });
    expect(penalized).toMatchObject({ status: 200, body: { allowed: false, remaining: 0, state: "throttled" } });
    expect((await ask("check", ORDER)).status).toBe(429);
  });

  it("are made once under an idempotency key", async () => {
    service = await startService();
    const once = { headers: { "x-idempotency-key": "once" } };
    for (let i = 0; i < 3; i += 1) await ask("penalize", ORDER, once);
    expect((await ask("check", { ...ORDER, cost: 0 })).body).toMatchObject({ remaining: 2 });
    expect(await ask("refund", ORDER, once)).toMatchObject({ status: 422, body: { code: "idempotency_conflict" } });
  });

  it.each([0, -1, 1.5, "1"])("refuse the cost %j", async (cost) => {
    service = await startService();
    expect(await ask("refund", { ...ORDER, cost })).toMatchObject({
      status: 400,
      body: { code: "validation_failed", errors: [{ field: "cost" }] },
    });
  });
});

describe("a check with several identities", () => {
  const rules = [ruleOf(), ruleOf({ rule_id: "address", name: "Address", dimension: "ip", limit: 1 })];
  const both = {
    identities: [{ identifier: "42" }, { identifier: "10.0.0.1", dimension: "IP" }],
    endpoint: "/api/v1/orders",
  };

  it("charges all of them, or none", async () => {
    service = await startService({ rules });
    const passed = await ask("check", { ...both, with_limits: true });
    expect(passed).toMatchObject({
      status: 200,
      body: {
        limits: [
          { rule_id: "orders", dimension: "user", identifier: "42", remaining: 2 },
          { rule_id: "address", dimension: "ip", identifier: "10.0.0.1", remaining: 0 },
        ],
      },
    });
    expect(passed.headers.get("ratelimit-policy")).toBe('"orders";q=3;w=60, "address";q=1;w=60');
    expect(await ask("check", both)).toMatchObject({ status: 429, body: { "violated-policies": ["address"] } });
    expect((await ask("check", { ...ORDER, cost: 0 })).body).toMatchObject({ remaining: 2 });
  });

  it.each([
    [{ ...both, identifier: "42" }, "identifier"],
    [{ ...both, dimension: "user" }, "dimension"],
    [{ endpoint: "/x" }, "identifier"],
    [{ ...both, identities: [] }, "identities"],
    [{ ...both, identities: Array.from({ length: 9 }, (_, i) => ({ identifier: `${i}` })) }, "identities"],
    [{ ...both, identities: [{ identifier: "42" }, { identifier: "42" }] }, "identities[1]"],
    [{ ...both, identities: [{ identifier: "" }] }, "identities[0].identifier"],
  ])("is refused as %j", async (body, field) => {
    service = await startService({ rules });
    expect(await ask("check", body)).toMatchObject({
      status: 400,
      body: { code: "validation_failed", errors: [{ field }] },
    });
  });
});
