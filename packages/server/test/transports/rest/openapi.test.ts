import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { PERMISSIONS } from "../../../src/access/permissions.ts";
import { type Answer, type Ask, ruleOf, type Service, startService } from "./service.ts";

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, { schema: object }>> }>>;
}

interface Document {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

let service: Service;
let document: Document;
/** `POST /api/v1/check 200`: what was answered. */
const seen = new Set<string>();

beforeAll(async () => {
  service = await startService();
  document = (await service.ask("GET", "/openapi.json", { key: null })).body;
});
afterAll(() => service.stop());

/** Sends a request, and compares the response with the document. */
async function ask(route: string, path: string, options: Ask = {}): Promise<Answer> {
  const [method, pattern] = route.split(" ");
  const answer = await service.ask(method, path, options);
  const operation = document.paths[pattern]?.[method.toLowerCase()];
  expect(operation, `${route} is not described`).toBeDefined();
  const response = operation.responses[answer.status];
  expect(response, `${route} answers ${answer.status}, which is not described: ${answer.text}`).toBeDefined();
  seen.add(`${route} ${answer.status}`);
  const type = answer.headers.get("content-type")?.split(";")[0];
  if (response.content === undefined) expect(answer.text).toBe("");
  else {
    expect(Object.keys(response.content)).toContain(type);
    const { schema } = response.content[type ?? ""];
    const checked = schemaOf(schema).safeParse(answer.body ?? answer.text);
    expect(checked.error?.issues, `${route} ${answer.status}`).toBeUndefined();
  }
  return answer;
}

/** The schema with the components that it refers to. */
function schemaOf(schema: object): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: document.components.schemas });
  return z.fromJSONSchema(JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/")));
}

const QUESTION = { identifier: "1", endpoint: "/api/v1/orders" };
const OVERRIDE = { limit: 5, reason: "x", duration_seconds: 60 };
const NEW = ruleOf({ rule_id: "new", endpoint_pattern: "/new" });

it("is OpenAPI 3.1, and states which routes require a key", () => {
  expect(document.openapi).toBe("3.1.0");
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const name = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}` as keyof typeof PERMISSIONS;
      expect([name, (operation.security ?? []).length > 0]).toEqual([name, PERMISSIONS[name] !== "open"]);
      expect(operation.summary).not.toBe("");
    }
  }
});

it("describes the tag of every operation", () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const tags = new Set(operations.flatMap(({ tags = [] }) => tags));
  expect(document.tags.map(({ name }) => name).sort()).toEqual([...tags].sort());
});

it("names each operation for generated clients", () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
  const ids = operations.map(({ operationId }) => operationId);
  for (const id of ids) expect(id).toMatch(/^[a-z]+([A-Z][a-z]+)*$/);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toEqual(
    expect.arrayContaining(["check", "listRules", "createRule", "deleteUserOverride", "getUserLimits"]),
  );
});

it("is as strict linters want it", () => {
  const text = JSON.stringify(document);
  for (const name of Object.keys(document.components.schemas)) {
    expect(text, `${name} is not used`).toContain(`#/components/schemas/${name}"`);
  }
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { security, responses }] of Object.entries(operations)) {
      const name = `${method} ${path}`;
      expect(security, name).toBeDefined();
      expect(
        Object.keys(responses).some((status) => status.startsWith("4")),
        name,
      ).toBe(true);
    }
  }
  expect(document).toMatchObject({ servers: [{ url: "/" }] });
});

it("describes every route but the page itself", () => {
  const described = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`),
  );
  const own = ["GET /", "GET /assets/:file", "GET /docs", "GET /openapi.json"];
  expect(described.sort()).toEqual(
    Object.keys(PERMISSIONS)
      .filter((route) => !own.includes(route))
      .sort(),
  );
});

it("documents which headers are read", () => {
  const headersOf = (path: string, method: string) =>
    (document.paths[path][method].parameters ?? []).filter((each) => each.in === "header").map(({ name }) => name);
  expect(headersOf("/api/v1/rules/{rule_id}", "put")).toEqual(["X-Idempotency-Key", "If-Match"]);
  expect(headersOf("/api/v1/check", "post")).toEqual(["X-Idempotency-Key"]);
  expect(headersOf("/api/v1/rules", "get")).toEqual([]);
  expect(headersOf("/api/v1/keys", "post")).toEqual([]);
  expect(headersOf("/api/v1/auth", "get")).toContain("x-headgate-identifier");
});

it("matches what the routes do", async () => {
  await ask("GET /healthz", "/healthz");
  await ask("GET /readyz", "/readyz");
  await ask("GET /metrics", "/metrics");
  const check = { body: { ...QUESTION, with_limits: true, timestamp: 5 } };
  for (let i = 0; i < 4; i += 1) await ask("POST /api/v1/check", "/api/v1/check", check);
  await ask("POST /api/v1/check", "/api/v1/check", { body: { ...QUESTION, endpoint: "/none" } });
  await ask("POST /api/v1/check", "/api/v1/check", { body: {} });
  await ask("POST /api/v1/check", "/api/v1/check", { body: "{" });
  await ask("POST /api/v1/check", "/api/v1/check", { body: "x", headers: { "content-type": "text/plain" } });
  await ask("POST /api/v1/check", "/api/v1/check", { body: { padding: "x".repeat(70_000) } });
  for (const cost of [0, 1]) {
    const body = { identifier: "2", endpoint: "/api/v1/orders", cost: cost + 1 };
    await ask("POST /api/v1/check", "/api/v1/check", { body, headers: { "x-idempotency-key": "k" } });
  }
  const headers = { "x-headgate-identifier": "9", "x-original-uri": "/api/v1/orders", "x-headgate-cost": "3" };
  await ask("GET /api/v1/auth", "/api/v1/auth", { headers });
  await ask("GET /api/v1/auth", "/api/v1/auth", { headers });
  await ask("GET /api/v1/auth", "/api/v1/auth?denied=403", { headers });
  await ask("POST /api/v1/explain", "/api/v1/explain", { body: QUESTION });
  await ask("GET /api/v1/explain", "/api/v1/explain?identifier=1&endpoint=/api/v1/orders");
  await ask("POST /api/v1/refund", "/api/v1/refund", { body: QUESTION });
  await ask("POST /api/v1/penalize", "/api/v1/penalize", { body: QUESTION });
  await ask("POST /api/v1/reset", "/api/v1/reset", { body: QUESTION });

  const reservation = await ask("POST /api/v1/reservations", "/api/v1/reservations", { body: { checks: [QUESTION] } });
  const one = `/api/v1/reservations/${reservation.body.reservation_id}`;
  await ask("GET /api/v1/reservations", "/api/v1/reservations");
  await ask("GET /api/v1/reservations/{reservation_id}", one);
  await ask("GET /api/v1/reservations/{reservation_id}", "/api/v1/reservations/none");
  await ask("PATCH /api/v1/reservations/{reservation_id}", one, { body: { for_ms: 5_000 } });
  await ask("POST /api/v1/reservations/{reservation_id}/settle", `${one}/settle`, { body: { costs: { orders: 1 } } });
  await ask("POST /api/v1/reservations/{reservation_id}/settle", `${one}/settle`, { body: { costs: { orders: 2 } } });
  const other = await ask("POST /api/v1/reservations", "/api/v1/reservations", { body: { checks: [QUESTION] } });
  const second = `/api/v1/reservations/${other.body.reservation_id}`;
  await ask("DELETE /api/v1/reservations/{reservation_id}", second);
  await ask("POST /api/v1/reset", "/api/v1/reset", { body: QUESTION });

  await ask("GET /api/v1/rules", "/api/v1/rules?limit=1");
  await ask("GET /api/v1/rules", "/api/v1/rules?limit=0");
  await ask("POST /api/v1/rules", "/api/v1/rules", { body: NEW, headers: { "x-idempotency-key": "k" } });
  await ask("POST /api/v1/rules", "/api/v1/rules", { body: NEW });
  await ask("POST /api/v1/rules", "/api/v1/rules", { body: ruleOf(), headers: { "x-idempotency-key": "k" } });
  await ask("GET /api/v1/rules/{rule_id}", "/api/v1/rules/new");
  await ask("GET /api/v1/rules/{rule_id}", "/api/v1/rules/none");
  await ask("GET /api/v1/rules/{rule_id}/recording", "/api/v1/rules/orders/recording");
  await ask("GET /api/v1/rules/{rule_id}/recording", "/api/v1/rules/none/recording");
  await ask("PUT /api/v1/rules/{rule_id}", "/api/v1/rules/new", { body: NEW });
  await ask("PUT /api/v1/rules/{rule_id}", "/api/v1/rules/none", { body: { ...NEW, rule_id: "none" } });
  await ask("PUT /api/v1/rules/{rule_id}", "/api/v1/rules/new", { body: NEW, headers: { "if-match": '"9"' } });
  const taken = { ...NEW, endpoint_pattern: "/api/v1/orders" };
  await ask("PUT /api/v1/rules/{rule_id}", "/api/v1/rules/new", { body: taken });
  await ask("DELETE /api/v1/rules/{rule_id}", "/api/v1/rules/new", { headers: { "if-match": '"9"' } });
  await ask("DELETE /api/v1/rules/{rule_id}", "/api/v1/rules/new");
  await ask("DELETE /api/v1/rules/{rule_id}", "/api/v1/rules/new");
  await ask("PUT /api/v1/rules", "/api/v1/rules", { body: { rules: [ruleOf()] } });

  const imported = { users: [{ user_id: "1", tier: "gold", custom_limits: { orders: { limit: 9 } } }] };
  await ask("POST /api/v1/users", "/api/v1/users", { body: imported });
  await ask("GET /api/v1/users", "/api/v1/users?tier=gold");
  await ask("PUT /api/v1/users/{user_id}/tier", "/api/v1/users/1/tier", { body: { tier: "premium" } });
  const stale = { body: { tier: "free" }, headers: { "if-match": '"9"' } };
  await ask("PUT /api/v1/users/{user_id}/tier", "/api/v1/users/1/tier", stale);
  const custom = { body: { custom_limits: { orders: { limit: 9 } } } };
  await ask("PUT /api/v1/users/{user_id}/limits", "/api/v1/users/1/limits", custom);
  const made = await ask("POST /api/v1/users/{user_id}/override", "/api/v1/users/1/override", { body: OVERRIDE });
  await ask("GET /api/v1/users/{user_id}", "/api/v1/users/1");
  await ask("GET /api/v1/users/{user_id}/limits", "/api/v1/users/1/limits");
  const path = made.headers.get("location") ?? "";
  await ask("DELETE /api/v1/users/{user_id}/override/{override_id}", path);
  await ask("DELETE /api/v1/users/{user_id}/override/{override_id}", path);

  const key = await ask("POST /api/v1/keys", "/api/v1/keys", { body: { name: "a", roles: ["read"] } });
  await ask("POST /api/v1/keys", "/api/v1/keys", { body: {} });
  await ask("GET /api/v1/keys", "/api/v1/keys");
  await ask("DELETE /api/v1/keys/{key_id}", `/api/v1/keys/${key.body.key_id}`);
  await ask("DELETE /api/v1/keys/{key_id}", "/api/v1/keys/none");
  await ask("GET /api/v1/audit", "/api/v1/audit?limit=3");
  await ask("GET /api/v1/audit/verification", "/api/v1/audit/verification");
  await ask("GET /api/v1/usage", "/api/v1/usage");
  await ask("GET /api/v1/usage/summary", "/api/v1/usage/summary");
  await ask("GET /api/v1/live", "/api/v1/live?once=true");
  await ask("POST /api/v1/rule-drafts", "/api/v1/rule-drafts", { body: NEW });
  await ask("GET /api/v1/rule-warnings", "/api/v1/rule-warnings");
  await ask("POST /api/v1/session", "/api/v1/session", { body: { key: service.keys.read } });
  await ask("GET /api/v1/session", "/api/v1/session");
  await ask("DELETE /api/v1/session", "/api/v1/session");
  await ask("GET /api/v1/top-denied", "/api/v1/top-denied");

  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { security, responses }] of Object.entries(operations)) {
      const route = `${method.toUpperCase()} ${path}`;
      const concrete = path.replaceAll(/\{\w+\}/g, "1");
      const body = method === "post" || method === "put" ? {} : undefined;
      if (security !== undefined && security.length > 0) {
        await ask(route, concrete, { key: null, body });
        const wrong = PERMISSIONS[route.replaceAll(/\{(\w+)\}/g, ":$1") as keyof typeof PERMISSIONS] === "read";
        await ask(route, concrete, { key: wrong ? service.keys.check : service.keys.read, body });
      }
      for (const status of Object.keys(responses).filter((status) => status.startsWith("2"))) {
        expect(seen, "answers that were described and never seen").toContain(`${route} ${status}`);
      }
    }
  }
});
