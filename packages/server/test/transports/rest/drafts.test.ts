import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ruleOf, type Service, startService } from "./service.ts";

let service: Service;
beforeAll(async () => {
  service = await startService({
    rules: [
      ruleOf({ rule_id: "all", endpoint_pattern: "/**", limit: 10 }),
      ruleOf({ rule_id: "idle", endpoint_pattern: "/idle", limit: 20 }),
    ],
  });
});
afterAll(() => service.stop());

describe("a draft of a rule", () => {
  it("is returned with its defaults, and stored nowhere", async () => {
    const draft = { name: "New rule", dimension: "user", endpoint_pattern: "new", limit: 5, window_seconds: 60 };
    const { status, body } = await service.ask("POST", "/api/v1/rule-drafts", { body: draft });
    expect(status).toBe(200);
    expect(body.rule).toMatchObject({ rule_id: "new-rule", endpoint_pattern: "/new", mode: "enforce" });
    expect(body.warnings).toEqual([]);
    expect((await service.ask("GET", "/api/v1/rules/new-rule")).status).toBe(404);
  });

  it("has its invalid fields named", async () => {
    const { status, body } = await service.ask("POST", "/api/v1/rule-drafts", {
      body: { name: "x", dimension: "user", endpoint_pattern: "/x", limit: 0, window_seconds: 60 },
    });
    expect([status, body.errors.map(({ field }: { field: string }) => field)]).toEqual([400, ["limit"]]);
  });

  it("is compared with the other rules, not with its own stored version", async () => {
    const draft = { rule_id: "idle", name: "x", dimension: "user", endpoint_pattern: "/idle", window_seconds: 60 };
    const about = async (limit: number) => {
      const body = { ...draft, limit, algorithm: "fixed_window" };
      return (await service.ask("POST", "/api/v1/rule-drafts", { body })).body.warnings;
    };
    expect(await about(30)).toMatchObject([{ rule_ids: ["idle", "all"] }]);
    expect(await about(5)).toEqual([]);
  });
});

it("lists rules that overlap", async () => {
  const { body } = await service.ask("GET", "/api/v1/rule-warnings");
  expect(body.warnings).toMatchObject([
    { rule_ids: ["idle", "all"], message: expect.stringContaining("never decide") },
  ]);
});

it("verifies the audit log", async () => {
  const { body } = await service.ask("GET", "/api/v1/audit/verification");
  expect(body).toMatchObject({ intact: true, begins_after: { seq: 0 } });
  expect(body.entries).toBe(body.head.seq);
});

it("sums up usage, with the rules that denied most first", async () => {
  const minute = (offset: number) => new Date(service.clock.now() / 1000 + offset * 60_000 - 1_000).toISOString();
  const row = { period: "minute" as const, allowed: 1, denied: 0, shadow_denied: 0, candidate_denied: 0 };
  await service.database.rollups.add([
    { ...row, start: minute(-2), rule_id: "calm", allowed: 50 },
    { ...row, start: minute(-2), rule_id: "busy", denied: 3 },
    { ...row, start: minute(-1), rule_id: "busy", denied: 4, shadow_denied: 1, candidate_denied: 2 },
    { ...row, start: minute(-90), rule_id: "busy", denied: 999 },
    { ...row, period: "day", start: minute(-2), rule_id: "busy", denied: 999 },
  ]);
  const { body } = await service.ask("GET", "/api/v1/usage/summary?limit=1");
  expect(body).toMatchObject({ starts: [minute(-2), minute(-1)] });
  expect(body.total).toEqual({ allowed: [51, 1], denied: [3, 4], shadow_denied: [0, 1], candidate_denied: [0, 2] });
  expect(body.rules).toEqual([
    { rule_id: "busy", allowed: [1, 1], denied: [3, 4], shadow_denied: [0, 1], candidate_denied: [0, 2] },
  ]);
  const bad = await service.ask("GET", "/api/v1/usage/summary?limit=201");
  expect(bad.status).toBe(400);
});
