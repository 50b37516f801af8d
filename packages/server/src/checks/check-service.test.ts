import { describe, expect, it } from "vitest";
import { request, rule, userData, world } from "../../test/checks/fixtures.ts";
import type { Override } from "../rules/user-limits.ts";

describe("a check", () => {
  it("is allowed until the limit is used up, then denied until the window ends", async () => {
    const { service, clock } = await world([rule({ limit: 2 })]);
    expect(await service.check(request())).toMatchObject({
      allowed: true,
      decisive: {
        rule_id: "all",
        limit: 2,
        current_count: 1,
        remaining: 1,
        retry_after_ms: 0,
        reset_at_ms: Date.parse("2026-01-01T00:01:00Z"),
      },
    });
    await service.check(request());
    expect(await service.check(request())).toMatchObject({
      allowed: false,
      decisive: { rule_id: "all", allowed: false, current_count: 2, remaining: 0, retry_after_ms: 60_000 },
    });
    await clock.advance(60_000);
    expect(await service.check(request())).toMatchObject({ allowed: true });
  });

  it("is answered at once, without a promise, when the user is known", async () => {
    const { service } = await world();
    expect(service.check(request())).toBeInstanceOf(Promise);
    await service.check(request());
    expect(service.check(request())).toMatchObject({ allowed: true });
    expect(service.check(request({ dimension: "apikey" }))).toMatchObject({ allowed: true });
  });

  it("is allowed when no rule matches, and then nothing decided", async () => {
    const { service, told } = await world([rule({ endpoint_pattern: "/other" })]);
    expect(await service.check(request())).toMatchObject({
      allowed: true,
      decisive: undefined,
      limits: [],
      shadow: [],
    });
    expect(told.decisions).toHaveLength(1);
  });

  it("is charged to all of its limits or to none", async () => {
    const { service } = await world([
      rule({ limit: 10 }),
      rule({ rule_id: "orders", endpoint_pattern: "/api/v1/orders", limit: 2 }),
    ]);
    for (let i = 0; i < 5; i += 1) await service.check(request());
    const { allowed, limits, decisive } = await service.check(request());
    expect(allowed).toBe(false);
    expect(decisive?.rule_id).toBe("orders");
    expect(limits.map(({ rule_id, current_count }) => [rule_id, current_count])).toEqual([
      ["all", 2],
      ["orders", 2],
    ]);
  });

  it("names as decisive the limit with the least left, or of those that refuse the one with the longest wait", async () => {
    const { service } = await world([
      rule({ rule_id: "minute", limit: 3 }),
      rule({ rule_id: "hour", window_seconds: 3_600, limit: 3 }),
      rule({ rule_id: "day", window_seconds: 86_400, limit: 4 }),
    ]);
    expect((await service.check(request())).decisive).toMatchObject({ remaining: 2 });
    await service.check(request({ cost: 2 }));
    expect((await service.check(request())).decisive).toMatchObject({ rule_id: "hour", remaining: 0 });
    expect((await service.check(request({ cost: 2 }))).decisive).toMatchObject({ rule_id: "day", remaining: 1 });
  });

  it("of cost 0 only looks", async () => {
    const { service, told } = await world([rule({ limit: 1 })]);
    await service.check(request());
    for (let i = 0; i < 3; i += 1) {
      expect(await service.check(request({ cost: 0 }))).toMatchObject({ allowed: true, decisive: { remaining: 0 } });
    }
    expect(told.decisions).toHaveLength(1);
  });

  it("that is only a peek says what would happen, and charges and counts nothing", async () => {
    const { service, told } = await world([rule({ limit: 3 })]);
    for (let i = 0; i < 5; i += 1) {
      expect(await service.peek(request({ cost: 3 }))).toMatchObject({ allowed: true, decisive: { remaining: 3 } });
    }
    expect(await service.peek(request({ cost: 4 }))).toMatchObject({ allowed: false });
    expect(told).toMatchObject({ decisions: [], transitions: [] });
  });

  it("counts all spellings of an address as one, and an IPv6 network as one holder", async () => {
    const { service } = await world([rule({ dimension: "ip", limit: 10 })]);
    const countOf = async (identifier: string): Promise<number | undefined> =>
      (await service.check(request({ dimension: "ip", identifier }))).decisive?.current_count;
    expect(await countOf("1.2.3.4")).toBe(1);
    expect(await countOf("::ffff:1.2.3.4")).toBe(2);
    expect(await countOf("::ffff:102:304")).toBe(3);
    expect(await countOf("2001:db8::1")).toBe(1);
    expect(await countOf("2001:DB8:0:0:ffff::2")).toBe(2);
    expect(await countOf("2001:db8:0:1::1")).toBe(1);
  });

  it("distinguishes identities of the same name in several dimensions", async () => {
    const { service } = await world([rule(), rule({ rule_id: "keys", dimension: "apikey" })]);
    for (const dimension of ["user", "apikey"] as const) {
      expect((await service.check(request({ dimension }))).decisive).toMatchObject({ current_count: 1 });
    }
  });
});

describe("a user's tier", () => {
  const rules = [rule({ limit: 2 }), rule({ rule_id: "premium", tier: "premium", limit: 5 })];

  it("selects the limit, and what was used stays used when it changes", async () => {
    const { service, users, userDataCache } = await world(rules);
    await service.check(request({ cost: 2 }));
    expect(await service.check(request())).toMatchObject({ allowed: false, decisive: { rule_id: "all" } });
    users.set("42", userData("42", { tier: "premium" }));
    userDataCache.changed({ kind: "user", user_id: "42" });
    expect(await service.check(request())).toMatchObject({
      allowed: true,
      decisive: { rule_id: "premium", origin: "tier", limit: 5, current_count: 3 },
    });
  });

  it("does not disturb what others have used, though one has another algorithm", async () => {
    const { service, users } = await world([
      rule({ limit: 2 }),
      rule({ rule_id: "premium", tier: "premium", algorithm: "token_bucket", limit: 5 }),
      rule({ rule_id: "keys", dimension: "apikey", algorithm: "gcra", limit: 3 }),
    ]);
    users.set("7", userData("7", { tier: "premium" }));
    const counts: unknown[] = [];
    for (let i = 0; i < 2; i += 1) {
      for (const asked of [request(), request({ identifier: "7" }), request({ dimension: "apikey" })]) {
        counts.push((await service.check(asked)).decisive?.current_count);
      }
    }
    expect(counts).toEqual([1, 1, 1, 2, 2, 2]);
  });

  it("gives way to an override until that expires", async () => {
    const { service, users, clock } = await world(rules);
    const override: Override = {
      override_id: "o",
      user_id: "42",
      rule_id: null,
      limit: 100,
      burst: null,
      reason: "a migration",
      created_at: "2026-01-01T00:00:00.000Z",
      created_by: "admin",
      expires_at: "2026-01-01T00:00:30.000Z",
    };
    users.set("42", userData("42", { overrides: [override] }));
    expect((await service.check(request())).decisive).toMatchObject({ limit: 100, origin: "override" });
    await clock.advance(30_000);
    expect((await service.check(request())).decisive).toMatchObject({ limit: 2, origin: "rule", current_count: 2 });
  });
});

describe("a changed rule", () => {
  it("is in force with the next check, and what was used stays used", async () => {
    const { service, use } = await world([rule({ limit: 3 })]);
    await service.check(request({ cost: 3 }));
    use(rule({ limit: 5 }));
    expect((await service.check(request())).decisive).toMatchObject({ limit: 5, current_count: 4 });
    use(rule({ limit: 2 }));
    expect(await service.check(request())).toMatchObject({ allowed: false, decisive: { limit: 2, remaining: 0 } });
  });
});

describe("a client's time", () => {
  it("decides nothing; its skew is reported, and flagged beyond the bound", async () => {
    const { service, clock, told } = await world();
    const now = clock.now() / 1000;
    expect(await service.check(request())).toMatchObject({ skew_ms: undefined, skewed: false });
    expect(await service.check(request({ timestamp: now + 1_000 }))).toMatchObject({ skew_ms: 1_000, skewed: false });
    expect(await service.check(request({ timestamp: now + 1_001 }))).toMatchObject({ skew_ms: 1_001, skewed: true });
    expect(await service.check(request({ timestamp: now - 3_600_000 }))).toMatchObject({
      allowed: true,
      skew_ms: -3_600_000,
      skewed: true,
      decisive: { current_count: 4 },
    });
    expect(told.skews).toEqual([1_000, 1_001, -3_600_000]);
  });
});

describe("an idempotency key", () => {
  it("has the same request charged once, and answered the same", async () => {
    const { service } = await world([rule(), rule({ rule_id: "shadow", endpoint_pattern: "/api/**", mode: "shadow" })]);
    const once = request({ idempotencyKey: "a" });
    const first = await service.check(once);
    expect(await service.check(once)).toEqual(first);
    expect(await service.peek(request())).toMatchObject({
      decisive: { current_count: 1 },
      shadow_limits: [{ current_count: 1 }],
    });
  });

  it("refuses another request under it, charging nothing", async () => {
    const { service } = await world();
    await service.check(request({ idempotencyKey: "a" }));
    expect(() => service.check(request({ idempotencyKey: "a", cost: 2 }))).toThrow(
      expect.objectContaining({ code: "HG_IDEMPOTENCY_CONFLICT" }),
    );
    expect((await service.peek(request())).decisive).toMatchObject({ current_count: 1 });
  });
});

describe("a wrong request", () => {
  it.each([
    [{ identifier: "" }, "identifier"],
    [{ identifier: "x".repeat(1_025) }, "identifier"],
    [{ identifier: 42 }, "identifier"],
    [{ identifier: "localhost", dimension: "ip" }, "identifier"],
    [{ identifier: "1.2.3.04", dimension: "ip" }, "identifier"],
    [{ dimension: "planet" }, "dimension"],
    [{ dimension: "__proto__" }, "dimension"],
    [{ endpoint: `/${"x".repeat(100_000)}` }, "endpoint"],
    [{ endpoint: undefined }, "endpoint"],
    [{ cost: -1 }, "cost"],
    [{ cost: 1.5 }, "cost"],
    [{ cost: Number.NaN }, "cost"],
    [{ cost: 2 ** 53 }, "cost"],
    [{ cost: "1" }, "cost"],
    [{ timestamp: Number.NaN }, "timestamp"],
    [{ timestamp: "now" }, "timestamp"],
    [{ idempotencyKey: "" }, "idempotency_key"],
    [{ idempotencyKey: "x".repeat(257) }, "idempotency_key"],
  ])("such as %o is refused by the name of its field, and charges nothing", async (fields, field) => {
    const { service, told } = await world();
    // @ts-expect-error: most of these are wrong by type too
    const asked = request(fields);
    for (const ask of [() => service.check(asked), () => service.peek(asked)]) {
      expect(ask).toThrow(expect.objectContaining({ name: "RequestError", field }));
    }
    expect((await service.peek(request())).decisive).toMatchObject({ current_count: 0 });
    expect(told.decisions).toEqual([]);
  });

  it.each(["__proto__", "constructor", "\0", "a:b", "\ud800", "x".repeat(1_024)])(
    "is not one whose identifier is %o",
    async (identifier) => {
      const { service } = await world();
      await service.check(request({ identifier }));
      expect((await service.check(request({ identifier }))).decisive).toMatchObject({ current_count: 2 });
    },
  );
});
