import { afterEach, describe, expect, it } from "vitest";
import { eventually, ruleOf, type Service, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

const TIERS = [
  ruleOf({ limit: 10 }),
  ruleOf({ rule_id: "orders-premium", tier: "premium", limit: 100 }),
  ruleOf({ rule_id: "search", endpoint_pattern: "/search/:term", window_seconds: 1, limit: 5 }),
  ruleOf({ rule_id: "beta", endpoint_pattern: "/beta/**", tier: "enterprise", limit: 7 }),
  ruleOf({ rule_id: "by-ip", dimension: "ip", endpoint_pattern: "/**", limit: 1_000 }),
];

async function limitsOf(user: string): Promise<Record<string, [number, string]>> {
  const { body } = await service.ask("GET", `/api/v1/users/${user}/limits`);
  return Object.fromEntries(
    body.limits.map((each: { rule_id: string; limit: number; origin: string }) => [
      each.rule_id,
      [each.limit, each.origin],
    ]),
  );
}

it("returns the defaults as the limits of an unknown user", async () => {
  service = await startService({ rules: TIERS });
  const { body, headers } = await service.ask("GET", "/api/v1/users/42/limits");
  expect(body).toMatchObject({ user_id: "42", tier: null, version: 0 });
  expect(headers.get("etag")).toBe('"0"');
  expect(await limitsOf("42")).toEqual({ orders: [10, "rule"], search: [5, "rule"] });
});

it("returns each limit once, also if a pattern is within another", async () => {
  const wide = ruleOf({ rule_id: "wide", endpoint_pattern: "/api/**" });
  const hour = ruleOf({ rule_id: "hour", window_seconds: 3_600, limit: 50 });
  service = await startService({ rules: [ruleOf(), wide, hour] });
  const { body } = await service.ask("GET", "/api/v1/users/42/limits");
  expect(body.limits.map(({ rule_id }: { rule_id: string }) => rule_id).sort()).toEqual(["hour", "orders", "wide"]);
});

it("puts a user into a tier, and removes the tier again", async () => {
  service = await startService({ rules: TIERS });
  const put = await service.ask("PUT", "/api/v1/users/42/tier", { body: { tier: "premium" } });
  expect([put.status, put.headers.get("etag")]).toEqual([200, '"1"']);
  expect(await limitsOf("42")).toEqual({ "orders-premium": [100, "tier"], search: [5, "rule"] });
  await service.ask("PUT", "/api/v1/users/42/tier", { body: { tier: "enterprise" } });
  expect(await limitsOf("42")).toEqual({ orders: [10, "rule"], search: [5, "rule"], beta: [7, "tier"] });
  await service.ask("PUT", "/api/v1/users/42/tier", { body: { tier: null } });
  expect(await limitsOf("42")).toEqual({ orders: [10, "rule"], search: [5, "rule"] });
});

it("takes any name for a tier that is a name", async () => {
  service = await startService({ rules: TIERS });
  for (const body of [{ tier: "" }, { tier: "two words" }, { tier: 3 }, {}]) {
    expect((await service.ask("PUT", "/api/v1/users/42/tier", { body })).status).toBe(400);
  }
});

it("warns of a tier that no rule uses, and stores it", async () => {
  service = await startService({ rules: TIERS });
  const put = async (tier: string | null) => {
    const { status, body } = await service.ask("PUT", "/api/v1/users/42/tier", { body: { tier } });
    expect([status, body.tier]).toEqual([200, tier]);
    return body.warnings;
  };
  const problem = "no rule uses the tier gold: the limits for users without a tier apply until one does";
  expect(await put("gold")).toEqual([{ in: "body", field: "tier", problem }]);
  expect((await put("premum"))[0].problem).toContain("premum (did you mean premium?)");
  for (const known of ["premium", "enterprise", null]) expect(await put(known)).toBe(undefined);
});

it("lists users by page, and those of one tier", async () => {
  service = await startService({ rules: TIERS });
  for (const [user, tier] of [
    ["b", "premium"],
    ["a", "free"],
    ["c", "premium"],
  ]) {
    await service.ask("PUT", `/api/v1/users/${user}/tier`, { body: { tier } });
  }
  const body = { limit: 77, reason: "sale", duration_seconds: 60 };
  await service.ask("POST", "/api/v1/users/a/override", { body });
  const first = await service.ask("GET", "/api/v1/users?limit=2");
  expect(first.body.users).toMatchObject([
    { user_id: "a", tier: "free", custom_limits: {}, overrides: [{ limit: 77 }], version: 2 },
    { user_id: "b", tier: "premium", overrides: [] },
  ]);
  const second = await service.ask("GET", `/api/v1/users?limit=2&cursor=${first.body.next}`);
  expect(second.body).toEqual({ users: [expect.objectContaining({ user_id: "c" })] });
  const premium = await service.ask("GET", "/api/v1/users?tier=premium");
  expect(premium.body.users.map(({ user_id }: { user_id: string }) => user_id)).toEqual(["b", "c"]);
  await service.clock.advance(60_000);
  expect((await service.ask("GET", "/api/v1/users")).body.users[0].overrides).toEqual([]);
  for (const query of ["cursor=x", "tier=two%20words", "limit=1001", "tear=free"]) {
    expect((await service.ask("GET", `/api/v1/users?${query}`)).status).toBe(400);
  }
});

describe("an import", () => {
  const post = (users: unknown, headers = {}) =>
    service.ask("POST", "/api/v1/users", { body: { users }, headers, key: service.keys.write });

  it("sets tiers and custom limits of many users, and is in force at once", async () => {
    service = await startService({ rules: TIERS });
    const users = [
      { user_id: "1", tier: "premium" },
      { user_id: "2", custom_limits: { orders: { limit: 250 } } },
    ];
    const { status, body } = await post(users);
    expect([status, body]).toEqual([200, { created: 2, updated: 0, unchanged: 0 }]);
    expect(await limitsOf("1")).toMatchObject({ "orders-premium": [100, "tier"] });
    expect(await limitsOf("2")).toMatchObject({ orders: [250, "custom"] });
    const check = { identifier: "1", endpoint: "/api/v1/orders" };
    expect((await service.ask("POST", "/api/v1/check", { body: check })).body.limit).toBe(100);
    expect((await post(users)).body).toEqual({ created: 0, updated: 0, unchanged: 2 });
    const audit = await service.ask("GET", "/api/v1/audit?user=1");
    expect(audit.body.entries).toMatchObject([{ action: "user.import", actor_name: "write" }]);
  });

  it("changes nothing if anything in it is invalid, and names the field", async () => {
    service = await startService({ rules: TIERS });
    const { status, body } = await post([
      { user_id: "1", tier: "premium" },
      { user_id: "2", tier: "two words" },
      { user_id: "3", custom_limits: { nothing: { limit: 1 } } },
      { user_id: "4", tier: null, teir: "free" },
      { user_id: "a\0", tier: null },
      { user_id: "6" },
      "user",
    ]);
    expect(status).toBe(400);
    expect(body.errors.map(({ field }: { field: string }) => field)).toEqual([
      "users[1].tier",
      "users[2].custom_limits.nothing",
      "users[3].teir",
      "users[4].user_id",
      "users[5].tier",
      "users[6]",
    ]);
    expect((await service.ask("GET", "/api/v1/users")).body.users).toEqual([]);
  });

  it("lists at most a hundred problems, and takes at most 500 users", async () => {
    service = await startService({ rules: TIERS });
    const wrong = await post(Array.from({ length: 500 }, () => ({})));
    expect([wrong.status, wrong.body.errors.length]).toEqual([400, 100]);
    const many = await post(Array.from({ length: 501 }, (_, i) => ({ user_id: String(i), tier: null })));
    expect([many.status, many.body.errors[0].field]).toEqual([400, "users"]);
    expect((await post([])).status).toBe(400);
    const limits = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [i, { limit: 1 }]));
    const long = await post([{ user_id: "1", custom_limits: limits }]);
    expect([long.status, long.body.errors[0].field]).toEqual([400, "users[0].custom_limits"]);
    const large = [{ user_id: "1", tier: "x".repeat(600_000) }];
    expect((await post(large)).status).toBe(413);
    const most = await post(Array.from({ length: 500 }, (_, i) => ({ user_id: String(i), tier: "premium" })));
    expect(most.body).toMatchObject({ created: 500 });
  });

  it("warns once of each tier that no rule uses", async () => {
    service = await startService({ rules: TIERS });
    const tiers = ["premium", "gold", "gold", "premum", null];
    const { body } = await post(tiers.map((tier, i) => ({ user_id: String(i), tier })));
    expect(body.warnings).toMatchObject([
      { field: "users[1].tier", problem: expect.stringMatching(/tier gold: .* \(2 of these users\)$/) },
      { field: "users[3].tier", problem: expect.stringContaining("did you mean premium?") },
    ]);
  });

  it("can be sent again under its idempotency key", async () => {
    service = await startService({ rules: TIERS });
    const send = () => post([{ user_id: "1", tier: "premium" }], { "x-idempotency-key": "k" });
    const [first, second] = [await send(), await send()];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get("idempotency-replayed")).toBe("true");
  });
});

it("gives a user custom limits, which take precedence over those of the tier", async () => {
  service = await startService({ rules: TIERS });
  await service.ask("PUT", "/api/v1/users/42/tier", { body: { tier: "premium" } });
  const body = { custom_limits: { "orders-premium": { limit: 250 }, search: { limit: 6, burst: null } } };
  const put = await service.ask("PUT", "/api/v1/users/42/limits", { body });
  expect(put.status).toBe(200);
  expect(await limitsOf("42")).toEqual({ "orders-premium": [250, "custom"], search: [6, "custom"] });
  await service.ask("PUT", "/api/v1/users/42/limits", { body: { custom_limits: {} } });
  expect(await limitsOf("42")).toEqual({ "orders-premium": [100, "tier"], search: [5, "rule"] });
});

it("refuses limits of rules that there are not, and prototypes", async () => {
  service = await startService({ rules: TIERS });
  const unknown = { custom_limits: { nothing: { limit: 1 } } };
  const { status, body } = await service.ask("PUT", "/api/v1/users/42/limits", { body: unknown });
  expect([status, body.errors[0].field]).toEqual([400, "custom_limits.nothing"]);
  const poison = '{"custom_limits":{"__proto__":{"limit":1}}}';
  expect((await service.ask("PUT", "/api/v1/users/42/limits", { body: poison })).status).toBe(400);
});

it("overrides for a time, and records the reason in the audit log", async () => {
  service = await startService({ rules: TIERS });
  const body = { rule_id: "orders", limit: 500, reason: "load test", duration_seconds: 60 };
  const made = await service.ask("POST", "/api/v1/users/42/override", { body, key: service.keys.write });
  expect(made.status).toBe(201);
  expect(made.body).toMatchObject({ user_id: "42", rule_id: "orders", limit: 500, reason: "load test" });
  expect(made.headers.get("location")).toBe(`/api/v1/users/42/override/${made.body.override_id}`);
  expect(await limitsOf("42")).toMatchObject({ orders: [500, "override"] });
  const check = { identifier: "42", endpoint: "/api/v1/orders" };
  await eventually(async () =>
    expect((await service.ask("POST", "/api/v1/check", { body: check })).body.limit).toBe(500),
  );
  const audit = await service.ask("GET", "/api/v1/audit?user=42&action=override.create");
  expect(audit.body.entries).toMatchObject([{ actor_name: "write", after: { reason: "load test", limit: 500 } }]);
  await service.clock.advance(60_000);
  expect(await limitsOf("42")).toMatchObject({ orders: [10, "rule"] });
  expect((await service.ask("GET", "/api/v1/users/42")).body.overrides).toEqual([]);
});

it("overrides all rules where none is named, until a moment", async () => {
  service = await startService({ rules: TIERS });
  const expires_at = new Date(service.clock.now() / 1000 + 5_000).toISOString();
  const body = { limit: 77, reason: "sale", expires_at };
  expect((await service.ask("POST", "/api/v1/users/42/override", { body })).body).toMatchObject({ expires_at });
  expect(await limitsOf("42")).toEqual({ orders: [77, "override"], search: [77, "override"] });
});

it("ends an override before its time", async () => {
  service = await startService({ rules: TIERS });
  const body = { limit: 77, reason: "sale", duration_seconds: 60 };
  const { headers } = await service.ask("POST", "/api/v1/users/42/override", { body });
  const path = headers.get("location") ?? "";
  expect((await service.ask("DELETE", path)).status).toBe(204);
  expect(await limitsOf("42")).toMatchObject({ orders: [10, "rule"] });
  const again = await service.ask("DELETE", path);
  expect([again.status, again.body.code]).toEqual([404, "override_not_found"]);
});

it.each([
  ["no end", { limit: 5, reason: "x" }, "expires_at"],
  ["two ends", { limit: 5, reason: "x", duration_seconds: 5, expires_at: "2100-01-01T00:00:00Z" }, "expires_at"],
  ["an end that is past", { limit: 5, reason: "x", expires_at: "2020-01-01T00:00:00Z" }, "expires_at"],
  ["an end that is none", { limit: 5, reason: "x", expires_at: "soon" }, "expires_at"],
  ["no reason", { limit: 5, duration_seconds: 5 }, "reason"],
  ["a blank reason", { limit: 5, duration_seconds: 5, reason: "  " }, "reason"],
  ["no limit", { reason: "x", duration_seconds: 5 }, "limit"],
  ["a rule that there is not", { rule_id: "nothing", limit: 5, reason: "x", duration_seconds: 5 }, "rule_id"],
])("refuses an override with %s", async (_, body, field) => {
  service = await startService({ rules: TIERS });
  const answer = await service.ask("POST", "/api/v1/users/42/override", { body });
  expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
});

it("refuses to lose an update of a user", async () => {
  service = await startService({ rules: TIERS });
  const put = (tier: string, tag: string) =>
    service.ask("PUT", "/api/v1/users/42/tier", { body: { tier }, headers: { "if-match": tag } });
  expect((await put("premium", '"0"')).status).toBe(200);
  expect((await put("free", '"0"')).status).toBe(412);
  expect((await put("free", '"1"')).status).toBe(200);
});

it("takes any text for a user: slashes, prototypes, other scripts", async () => {
  service = await startService({ rules: TIERS });
  for (const user of ["a/b", "../../etc", "__proto__", "constructor", "用户", "%2e%2e%2f", "a b?c#d"]) {
    const path = `/api/v1/users/${encodeURIComponent(user)}`;
    expect((await service.ask("PUT", `${path}/tier`, { body: { tier: "premium" } })).status).toBe(200);
    const { body } = await service.ask("GET", path);
    expect(body).toMatchObject({ user_id: user, tier: "premium", version: 1 });
  }
});

it("returns the limits by page, in the order of the rules' ids, whatever order the rules were created in", async () => {
  const rules = Array.from({ length: 25 }, (_, i) =>
    ruleOf({ rule_id: `r${(i * 7) % 25}`, endpoint_pattern: `/r${i}` }),
  );
  service = await startService({
    rules: [...rules, ruleOf({ rule_id: "r11-premium", endpoint_pattern: "/r0", tier: "premium" })],
  });
  const found: string[] = [];
  const sizes: number[] = [];
  for (let cursor = ""; ; ) {
    const { body } = await service.ask("GET", `/api/v1/users/42/limits?limit=10${cursor}`);
    found.push(...body.limits.map(({ rule_id }: { rule_id: string }) => rule_id));
    sizes.push(body.limits.length);
    if (body.next === undefined) break;
    cursor = `&cursor=${body.next}`;
  }
  expect(sizes).toEqual([10, 10, 5]);
  expect(found).toEqual(rules.map(({ rule_id }) => rule_id).sort());
  const bad = await service.ask("GET", "/api/v1/users/42/limits?cursor=x");
  expect([bad.status, bad.body.errors[0].field]).toEqual([400, "cursor"]);
});

it("accepts at most a thousand custom limits of a user", async () => {
  service = await startService();
  const custom_limits = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`r${i}`, 1]));
  const { status, body } = await service.ask("PUT", "/api/v1/users/42/limits", { body: { custom_limits } });
  const problem = "must have at most 1000 limits, got 1001";
  expect([status, body.errors]).toEqual([400, [{ in: "body", field: "custom_limits", problem }]]);
});
