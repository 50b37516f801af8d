import { afterEach, expect, it } from "vitest";
import type { Database } from "../../../src/database/database.ts";
import { DatabaseError } from "../../../src/database/database-error.ts";
import { ruleOf, type Service, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

const CODES = ["HG_DATABASE_UNREACHABLE", "HG_DATABASE_LOCKED", "HG_DATABASE_READ_ONLY", "HG_DATABASE_FULL"] as const;

/** A database whose tables all fail on demand, as those of the real one do. */
function failing(
  database: Pick<Database, "rules" | "users" | "keys" | "audit" | "rollups" | "answered">,
  state: { code?: (typeof CODES)[number] },
) {
  const table = <Table extends object>(table: Table): Table =>
    new Proxy(table, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return async (...args: unknown[]) => {
          if (state.code !== undefined) throw new DatabaseError(state.code, "cannot be used");
          return Reflect.apply(method, target, args);
        };
      },
    });
  const { rules, users, keys, audit, rollups, answered } = database;
  return {
    rules: table(rules),
    users: table(users),
    keys: table(keys),
    audit: table(audit),
    rollups: table(rollups),
    answered: table(answered),
  };
}

it.each(CODES)("answers admins with 503 and a time to retry, and keeps checking: %s", async (code) => {
  const state: { code?: (typeof CODES)[number] } = {};
  service = await startService({ parts: ({ database }) => ({ database: failing(database, state) }) });
  state.code = code;
  const override = { limit: 5, reason: "x", duration_seconds: 5 };
  const asked = [
    ["GET", "/api/v1/rules", undefined],
    ["GET", "/api/v1/rules/orders", undefined],
    ["POST", "/api/v1/rules", ruleOf({ rule_id: "n" })],
    ["PUT", "/api/v1/rules", { rules: [] }],
    ["PUT", "/api/v1/rules/orders", ruleOf()],
    ["DELETE", "/api/v1/rules/orders", undefined],
    ["GET", "/api/v1/users/1", undefined],
    ["GET", "/api/v1/users/1/limits", undefined],
    ["PUT", "/api/v1/users/1/limits", { custom_limits: {} }],
    ["PUT", "/api/v1/users/1/tier", { tier: "free" }],
    ["POST", "/api/v1/users/1/override", override],
    ["DELETE", "/api/v1/users/1/override/1", undefined],
    ["GET", "/api/v1/keys", undefined],
    ["POST", "/api/v1/keys", { name: "a", roles: ["read"] }],
    ["DELETE", "/api/v1/keys/1", undefined],
    ["GET", "/api/v1/audit", undefined],
    ["GET", "/api/v1/usage", undefined],
  ] as const;
  for (const [method, path, body] of asked) {
    const answer = await service.ask(method, path, { body });
    expect([method, path, answer.status, answer.body.code]).toEqual([method, path, 503, "database_unavailable"]);
    expect(answer.body.cause).toBe(code);
    expect(answer.headers.get("retry-after")).toBe("1");
  }
  const check = { identifier: "1", endpoint: "/api/v1/orders" };
  expect((await service.ask("POST", "/api/v1/check", { body: check })).status).toBe(200);
  expect((await service.ask("POST", "/api/v1/explain", { body: check })).status).toBe(200);
  expect((await service.ask("GET", "/healthz", { key: null })).status).toBe(200);
  delete state.code;
  expect((await service.ask("GET", "/api/v1/rules")).status).toBe(200);
});

it("does the same with a real database that was closed", async () => {
  service = await startService();
  const body = { identifier: "1", endpoint: "/api/v1/orders" };
  await service.ask("POST", "/api/v1/check", { body });
  await service.database.close();
  const { status, body: problem } = await service.ask("GET", "/api/v1/rules");
  expect([status, problem.code, problem.cause]).toEqual([503, "database_unavailable", "HG_DATABASE_CLOSED"]);
  expect((await service.ask("POST", "/api/v1/check", { body })).body).toMatchObject({ allowed: true, remaining: 1 });
  expect((await service.ask("POST", "/api/v1/check", { body: { ...body, identifier: "new" } })).status).toBe(200);
});
