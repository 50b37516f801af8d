import { afterEach, beforeEach, expect, it } from "vitest";
import { eventually, ruleOf, type Service, startService } from "./service.ts";

let service: Service;
beforeEach(async () => {
  service = await startService({
    rules: [
      ruleOf({ limit: 10 }),
      ruleOf({ rule_id: "orders-premium", tier: "premium", limit: 100 }),
      ruleOf({ rule_id: "orders-gold", tier: "gold", limit: 1_000 }),
      ruleOf({ rule_id: "watch", endpoint_pattern: "/**", limit: 1, mode: "shadow" }),
      ruleOf({ rule_id: "only-reads", methods: ["GET", "HEAD"] }),
      ruleOf({ rule_id: "elsewhere", endpoint_pattern: "/elsewhere" }),
    ],
  });
});
afterEach(() => service.stop());

const QUESTION = { identifier: "42", endpoint: "/api/v1/orders" };

async function explain(fields: object = {}) {
  const { status, body } = await service.ask("POST", "/api/v1/explain", { body: { ...QUESTION, ...fields } });
  expect(status).toBe(200);
  return body;
}

function whyOf(body: { rules: { rule_id: string; applies: boolean; why: string }[] }): Record<string, string> {
  return Object.fromEntries(
    body.rules.map(({ rule_id, applies, why }) => [rule_id, `${applies ? "yes" : "no"}: ${why}`]),
  );
}

it("lists which rules match, which apply, and why", async () => {
  const body = await explain();
  expect(body).toMatchObject({ ...QUESTION, dimension: "user", cost: 1, tier: null });
  expect(body.answer).toMatchObject({ allowed: true, rule_id: "orders", remaining: 10 });
  expect(body.summary).toBe("Allowed. The tightest limit is orders (10 per 60 s): 10 left.");
  expect(whyOf(body)).toEqual({
    orders: "yes: the rule applies to all users",
    watch: "yes: the rule applies to all users; in shadow mode, so it denies nothing",
    "orders-premium": "no: the rule is for tier premium; the user's tier is none",
    "orders-gold": "no: the rule is for tier gold; the user's tier is none",
    "only-reads": "no: the rule is for GET, HEAD; the check has no method",
  });
});

it("lists which rules are for other methods", async () => {
  const read = await explain({ method: "get" });
  expect([whyOf(read)["only-reads"], read.method]).toEqual(["yes: the rule applies to all users", "get"]);
  expect(read.rules.find(({ rule_id }: { rule_id: string }) => rule_id === "only-reads").methods).toEqual([
    "GET",
    "HEAD",
  ]);
  const write = await explain({ method: "post" });
  expect(whyOf(write)["only-reads"]).toBe("no: the rule is for GET, HEAD; the method is POST");
  const query = "identifier=42&endpoint=%2Fapi%2Fv1%2Forders&method=HEAD";
  expect(whyOf((await service.ask("GET", `/api/v1/explain?${query}`)).body)["only-reads"]).toMatch(/^yes/);
});

it("shows what a tier, a custom limit and an override change", async () => {
  await service.ask("PUT", "/api/v1/users/42/tier", { body: { tier: "premium" } });
  await eventually(async () =>
    expect(whyOf(await explain())).toMatchObject({
      "orders-premium": "yes: the user's tier is premium",
      orders: "no: the user's tier (premium) has a rule of its own",
      watch:
        "yes: the rule applies to all users whose tier (premium) has no rule of its own; in shadow mode, so it denies nothing",
    }),
  );
  const custom_limits = { "orders-premium": { limit: 5 } };
  await service.ask("PUT", "/api/v1/users/42/limits", { body: { custom_limits } });
  await eventually(async () =>
    expect(whyOf(await explain())["orders-premium"]).toBe("yes: the user has a custom limit for this rule"),
  );
  const body = { limit: 9, reason: "sale", duration_seconds: 60, rule_id: "orders-premium" };
  const { override_id, expires_at } = (await service.ask("POST", "/api/v1/users/42/override", { body })).body;
  await eventually(async () =>
    expect(whyOf(await explain())["orders-premium"]).toBe(
      `yes: overridden by ${override_id} until ${expires_at} (sale)`,
    ),
  );
});

it("reports that the request would be denied, and until when, or always", async () => {
  const check = { ...QUESTION, cost: 10 };
  await service.ask("POST", "/api/v1/check", { body: check });
  expect((await explain()).summary).toMatch(/^Denied by orders \(10 per 60 s\)\. Allowed in \d+ ms\.$/);
  expect((await explain({ cost: 11 })).summary).toMatch(/at any time: the cost exceeds the limit\.$/);
  expect((await explain({ endpoint: "/api/v1/none" })).summary).toBe("Allowed: only shadow rules match.");
  expect((await explain({ dimension: "apikey" })).summary).toBe("Allowed: no rule matches.");
});

it("charges nothing, however it is asked", async () => {
  for (let i = 0; i < 20; i += 1) await explain({ cost: 5 });
  const query = "identifier=42&endpoint=%2Fapi%2Fv1%2Forders&cost=3";
  const { status, body } = await service.ask("GET", `/api/v1/explain?${query}`);
  expect([status, body.cost, body.answer.remaining]).toEqual([200, 3, 10]);
  const { body: check } = await service.ask("POST", "/api/v1/check", { body: { ...QUESTION, cost: 0 } });
  expect(check.remaining).toBe(10);
});
