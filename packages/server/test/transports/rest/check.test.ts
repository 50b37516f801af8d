import { connect } from "node:net";
import { afterEach, expect, it } from "vitest";
import type { CheckService } from "../../../src/checks/check.ts";
import { checkResult } from "../../checks/results.ts";
import { type Ask, ruleOf, type Service, type ServiceOptions, startService } from "./service.ts";

let service: Service;
afterEach(() => service.stop());

async function start(options?: ServiceOptions): Promise<void> {
  service = await startService(options);
}

const ORDER = { identifier: "42", dimension: "user", endpoint: "/api/v1/orders" };

function check(body: object = {}, ask: Ask = {}) {
  return service.ask("POST", "/api/v1/check", { body: { ...ORDER, ...body }, key: service.keys.check, ...ask });
}

it("allows up to the limit, then denies with 429 and a time to retry", async () => {
  await start();
  const first = await check({ cost: 3 });
  expect(first.status).toBe(200);
  expect(first.body).toMatchObject({
    allowed: true,
    current_count: 3,
    limit: 3,
    remaining: 0,
    retry_after: 0,
    rule_id: "orders",
    source: "store",
    degraded: false,
    skewed: false,
  });
  const second = await check();
  expect(second.status).toBe(429);
  expect(second.headers.get("content-type")).toBe("application/problem+json; charset=utf-8");
  expect(second.body).toMatchObject({
    type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
    status: 429,
    code: "quota_exceeded",
    "violated-policies": ["orders"],
    allowed: false,
    state: "throttled",
  });
  expect(second.body.retry_after).toBeGreaterThan(0);
  expect(second.headers.get("retry-after")).toBe(String(second.body.retry_after));
  expect(second.body.retry_after).toBe(Math.ceil(second.body.retry_after_ms / 1000));
});

it("reports limits in the headers that the middleware writes", async () => {
  await start({ rules: [ruleOf(), ruleOf({ rule_id: "all", name: "All", endpoint_pattern: "/**", limit: 100 })] });
  const { headers, body } = await check({ cost: 3 });
  expect(headers.get("ratelimit-policy")).toBe('"all";q=100;w=60, "orders";q=3;w=60');
  expect(headers.get("ratelimit")).toMatch(/^"all";r=97;t=\d+, "orders";r=0;t=\d+$/);
  expect(headers.get("headgate-state")).toBe('throttled;policy="orders"');
  expect(headers.get("retry-after")).toBeNull();
  expect(body).not.toHaveProperty("limits");
});

it("states 16 of many limits in headers, and all of them in the body", async () => {
  const rules = Array.from({ length: 400 }, (_, i) =>
    ruleOf({ rule_id: `orders-${i}`, name: `Orders ${i}`, window_seconds: 60 + i, limit: 1_000 - i }),
  );
  await start({ rules });
  const { status, headers, body } = await check({ with_limits: true });
  expect(status).toBe(200);
  const policies = headers.get("ratelimit-policy")?.split(", ") ?? [];
  const least = Array.from({ length: 16 }, (_, i) => `"orders-${384 + i}"`);
  expect(policies.map((policy: string) => policy.split(";")[0]).sort()).toEqual(least);
  expect(headers.get("ratelimit")?.split(", ")).toHaveLength(16);
  expect(body.limits).toHaveLength(400);
});

it("refuses an endpoint that can be read in too many ways, and charges nothing", async () => {
  const rules = Array.from({ length: 128 }, (_, i) => {
    const endpoint_pattern = Array.from({ length: 7 }, (_, bit) => ((i >> bit) & 1 ? "/a" : "/*")).join("");
    return ruleOf({ rule_id: `rule-${i}`, name: `Rule ${i}`, endpoint_pattern, limit: 2 });
  });
  await start({ rules });
  const { status, body } = await check({ endpoint: `/${"a/..;%2f".repeat(30)}` });
  expect(status).toBe(400);
  expect(body.errors).toEqual([{ in: "body", field: "endpoint", problem: "is too ambiguous: send a normalized path" }]);
  expect((await check({ endpoint: "/a".repeat(7), cost: 2 })).body).toMatchObject({ allowed: true, remaining: 0 });
});

it("lists all limits if asked to", async () => {
  await start({ rules: [ruleOf(), ruleOf({ rule_id: "look", endpoint_pattern: "/**", limit: 1, mode: "shadow" })] });
  await check();
  const { status, body } = await check({ with_limits: true });
  expect(status).toBe(200);
  expect(body.limits).toMatchObject([{ rule_id: "orders", allowed: true, limit: 3, remaining: 1, origin: "rule" }]);
  expect(body.shadow_limits).toMatchObject([{ rule_id: "look", allowed: false, limit: 1 }]);
});

it("allows requests that no rule matches, with nulls in the response", async () => {
  await start();
  const { status, body, headers } = await check({ endpoint: "/elsewhere" });
  expect(status).toBe(200);
  expect(body).toMatchObject({ allowed: true, rule_id: null, limit: null, remaining: null, reset_at: null });
  expect(headers.get("ratelimit")).toBeNull();
});

it("returns -1 for what can never pass, and sends no Retry-After", async () => {
  await start();
  const { status, body, headers } = await check({ cost: 4 });
  expect(status).toBe(429);
  expect(body).toMatchObject({ retry_after: -1, retry_after_ms: -1 });
  expect(headers.get("retry-after")).toBeNull();
});

it("measures the client's clock and flags it beyond the bound", async () => {
  await start();
  const now = service.clock.now() / 1000;
  expect((await check({ timestamp: Math.round(now) + 900 })).body).toMatchObject({ skew_ms: 900, skewed: false });
  expect((await check({ timestamp: Math.round(now) - 5_000 })).body).toMatchObject({ skew_ms: -5_000, skewed: true });
});

it("charges a request once that is sent again under its idempotency key", async () => {
  await start();
  const headers = { "x-idempotency-key": "a-1" };
  const first = await check({}, { headers });
  await service.clock.advance(1_234.567);
  const again = await check({}, { headers });
  expect(again.body).toEqual(first.body);
  expect((await check({ cost: 0 })).body.remaining).toBe(2);
  for (const body of [{ cost: 2 }, { endpoint: "/api/v1/orders/" }, { endpoint: "/api/v1/orders?page=2" }]) {
    const other = await check(body, { headers });
    expect([other.status, other.body.code]).toEqual([422, "idempotency_conflict"]);
  }
  expect((await check({ cost: 0 })).body.remaining).toBe(2);
});

it("answers 503 when the store is gone and the rule denies then", async () => {
  await start({
    parts: ({ service }) => ({
      service: {
        check: async () =>
          checkResult({ limits: [{ allowed: false, source: "fallback", degraded: true, retryAfter: 1_000_000 }] }),
        checkRule: (request) => service.checkRule(request),
        peek: (request) => service.peek(request),
        correct: (action, request) => service.correct(action, request),
        reset: (identity, actor) => service.reset(identity, actor),
        close: () => service.close(),
      },
    }),
  });
  const { status, body, headers } = await check();
  expect(status).toBe(503);
  expect(body).toMatchObject({ code: "reduced_capacity", allowed: false, source: "fallback", degraded: true });
  expect(headers.get("retry-after")).toBe("1");
});

it.each([
  ["no identifier", { identifier: undefined }, "identifier"],
  ["an empty identifier", { identifier: "" }, "identifier"],
  ["an unknown dimension", { dimension: "galaxy" }, "dimension"],
  ["a cost in text", { cost: "1" }, "cost"],
  ["half a cost", { cost: 1.5 }, "cost"],
  ["a cost below zero", { cost: -1 }, "cost"],
  ["a cost beyond 2^53", { cost: 2 ** 53 + 2 }, "cost"],
  ["an unknown field", { color: "red" }, "color"],
  ["an endpoint of 10 kB", { endpoint: `/${"a".repeat(10_000)}` }, "endpoint"],
  ["an address that is none", { dimension: "ip", identifier: "1.2.3" }, "identifier"],
])("refuses %s, names the field, and charges nothing", async (_, fields, field) => {
  await start();
  const { status, body } = await check(fields);
  expect(status).toBe(400);
  expect(body).toMatchObject({ code: "validation_failed", errors: [{ in: "body", field }] });
  expect((await check({ cost: 0 })).body.remaining).toBe(3);
});

it("keeps identities apart that look like properties of objects", async () => {
  await start();
  for (const identifier of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
    expect((await check({ identifier, cost: 3 })).status).toBe(200);
    expect((await check({ identifier })).status).toBe(429);
  }
});

it("resets what an identity has used, and audits it", async () => {
  await start();
  await check({ cost: 3 });
  const { status, body } = await service.ask("POST", "/api/v1/reset", { body: ORDER, key: service.keys.write });
  expect(status).toBe(200);
  expect(body).toEqual({ reset: ["orders"] });
  expect((await check()).status).toBe(200);
  const audit = await service.ask("GET", "/api/v1/audit?user=42&action=limit.reset");
  expect(audit.body.entries).toMatchObject([{ actor_name: "write", action: "limit.reset", subject: "user:42" }]);
});

it("answers checks that come in one piece in their order, also if the first takes the longest", async () => {
  let asked = 0;
  let release = () => {};
  const last = new Promise<void>((resolve) => {
    release = resolve;
  });
  await start({
    parts: ({ service }) => {
      const check: CheckService["check"] = (request) => {
        asked += 1;
        if (asked === 1) return last.then(() => service.check(request));
        if (asked === 5) release();
        return service.check(request);
      };
      return { service: Object.assign(Object.create(service), { check }) };
    },
  });
  const body = JSON.stringify(ORDER);
  const request = (connection: string) =>
    `POST /api/v1/check HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\nAuthorization: Bearer ${service.keys.check}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const socket = connect(service.port, "127.0.0.1").setEncoding("latin1");
  socket.write(request("keep-alive").repeat(4) + request("close"));
  let heard = "";
  for await (const chunk of socket) heard += chunk;
  const answers = heard.split(/(?=HTTP\/1\.1 )/).map((answer) => {
    const [head, text] = answer.split("\r\n\r\n");
    expect(head).toContain(`\r\nContent-Length: ${text.length}\r\n`);
    return [Number(head.split(" ")[1]), JSON.parse(text).remaining];
  });
  expect(answers).toEqual([
    [429, 0],
    [200, 2],
    [200, 1],
    [200, 0],
    [429, 0],
  ]);
});

it("reports the place in the queue of a leaky bucket, and how long to delay the request", async () => {
  await start({ rules: [ruleOf({ algorithm: "leaky_bucket", limit: 60, burst: 5 })] });
  expect((await check({ cost: 2 })).body).toMatchObject({ queue_position: 2, delay_ms: 0 });
  const second = await check({ with_limits: true });
  expect(second.body.queue_position).toBe(3);
  expect(second.body.delay_ms).toBeGreaterThan(1_000);
  expect(second.body.limits[0]).toMatchObject({ queue_position: 3, delay_ms: second.body.delay_ms });
  const denied = await check({ cost: 4 });
  expect(denied.status).toBe(429);
  expect(denied.body).not.toHaveProperty("queue_position");
});
