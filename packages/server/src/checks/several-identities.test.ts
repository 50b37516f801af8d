import { describe, expect, it } from "vitest";
import { request, rule, userData, world } from "../../test/checks/fixtures.ts";

const rules = [
  rule({ rule_id: "user", limit: 5 }),
  rule({ rule_id: "address", dimension: "ip", limit: 3 }),
  rule({ rule_id: "organisation", dimension: "apikey", limit: 10 }),
];

const others = [
  { identifier: "10.0.0.1", dimension: "ip" },
  { identifier: "acme", dimension: "apikey" },
] as const;

describe("a check with several identities", () => {
  it("is charged to all of them", async () => {
    const { service } = await world(rules);
    const result = await service.check(request({ others }));
    expect(result.allowed).toBe(true);
    expect(result.limits).toMatchObject([
      { rule_id: "user", dimension: "user", identifier: "42", remaining: 4 },
      { rule_id: "address", dimension: "ip", identifier: "10.0.0.1", remaining: 2 },
      { rule_id: "organisation", dimension: "apikey", identifier: "acme", remaining: 9 },
    ]);
  });

  it("is charged to none of them if one denies", async () => {
    const { service, told } = await world(rules);
    for (let i = 0; i < 3; i += 1) await service.check(request({ others: [others[0]] }));
    const denied = await service.check(request({ identifier: "43", others }));
    expect(denied).toMatchObject({ allowed: false, verdict: { deniedBy: ["address"] } });
    expect((await service.peek(request({ identifier: "43" }))).limits).toMatchObject([{ remaining: 5 }]);
    expect((await service.peek(request({ ...others[1] }))).limits).toMatchObject([{ remaining: 10 }]);
    expect(told.decisions.at(-1)?.result.allowed).toBe(false);
  });

  it("uses the data of each user", async () => {
    const { service, users } = await world(rules);
    users.set("vip", userData("vip", { custom_limits: { user: { limit: 100 } } }));
    const second = [{ identifier: "vip", dimension: "user" }] as const;
    const { limits } = await service.check(request({ others: second }));
    expect(limits).toMatchObject([
      { identifier: "42", limit: 5 },
      { identifier: "vip", limit: 100, origin: "custom" },
    ]);
  });

  it("is charged once under an idempotency key", async () => {
    const { service } = await world(rules);
    const once = request({ others, idempotencyKey: "once" });
    await service.check(once);
    await service.check(once);
    expect((await service.peek(request())).limits).toMatchObject([{ remaining: 4 }]);
  });

  it("is charged to shadow rules of each identity, which deny nothing", async () => {
    const { service } = await world([
      rules[0],
      rule({ rule_id: "address", dimension: "ip", limit: 1, mode: "shadow" }),
    ]);
    await service.check(request({ others }));
    const { allowed, shadow_limits } = await service.check(request({ others }));
    expect(allowed).toBe(true);
    expect(shadow_limits).toMatchObject([{ rule_id: "address", identifier: "10.0.0.1", allowed: false }]);
  });

  it("is rejected if two identities are one, before anything is charged", async () => {
    const { service } = await world(rules);
    const twice = [
      { identifier: "::ffff:10.0.0.1", dimension: "ip" },
      { identifier: "10.0.0.1", dimension: "ip" },
    ] as const;
    await expect(service.check(request({ others: twice }))).rejects.toMatchObject({ field: "identities[2]" });
    expect((await service.peek(request())).limits).toMatchObject([{ remaining: 5 }]);
  });

  it("is allowed if no rule matches any of them", async () => {
    const { service } = await world([]);
    expect(await service.check(request({ others }))).toMatchObject({ allowed: true, limits: [] });
  });
});

describe("a correction", () => {
  it("returns units to all limits that match, and no more than are used", async () => {
    const { service } = await world([
      ...rules,
      rule({ rule_id: "shadow", limit: 2, endpoint_pattern: "/api/**", mode: "shadow" }),
    ]);
    for (let i = 0; i < 2; i += 1) await service.check(request());
    const refunded = await service.correct("refund", request());
    expect(refunded).toMatchObject({ allowed: true, verdict: { remaining: 4 } });
    expect(refunded.shadow[0].remaining).toBe(1);
    expect((await service.correct("refund", request({ cost: 100 }))).verdict).toMatchObject({ remaining: 5 });
  });

  it("charges units that are not available", async () => {
    const { service, told } = await world(rules);
    const penalized = await service.correct("penalize", request({ cost: 7 }));
    expect(penalized).toMatchObject({ allowed: false, verdict: { remaining: 0, deniedBy: ["user"] } });
    expect(await service.check(request())).toMatchObject({ allowed: false });
    expect(told.decisions).toHaveLength(1);
    expect(told.transitions).toEqual(["user: normal -> throttled"]);
  });

  it("is made once under an idempotency key", async () => {
    const { service } = await world(rules);
    const once = request({ cost: 2, others, idempotencyKey: "once" });
    for (let i = 0; i < 3; i += 1) await service.correct("penalize", once);
    expect((await service.peek(request())).limits).toMatchObject([{ remaining: 3 }]);
    expect((await service.peek(request({ ...others[0] }))).limits).toMatchObject([{ remaining: 1 }]);
    await expect(service.correct("refund", once)).rejects.toMatchObject({ code: "HG_IDEMPOTENCY_CONFLICT" });
  });

  it("corrects limits of every consistency", async () => {
    const mixed = (["strict", "cached", "leased", "split"] as const).map((consistency, i) =>
      rule({ rule_id: consistency, consistency, window_seconds: 60 + i }),
    );
    const { service } = await world(mixed);
    await service.check(request({ cost: 4 }));
    await service.correct("refund", request({ cost: 3, idempotencyKey: "once" }));
    expect((await service.peek(request())).limits.map(({ remaining }) => remaining)).toEqual([9, 9, 9, 9]);
  });

  it("does nothing if no rule matches", async () => {
    const { service } = await world([]);
    expect(await service.correct("penalize", request())).toMatchObject({ allowed: true, verdict: undefined });
  });
});
