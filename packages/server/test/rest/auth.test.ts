import { afterEach, beforeEach, expect, it } from "vitest";
import { ruleOf, type Service, startService } from "./service.ts";

let service: Service;
beforeEach(async () => {
  service = await startService({
    rules: [ruleOf({ limit: 2 }), ruleOf({ rule_id: "by-ip", dimension: "ip", endpoint_pattern: "/**", limit: 1 })],
  });
});
afterEach(() => service.stop());

function auth(headers: Record<string, string>, query = "") {
  const usual = { "x-headgate-identifier": "42", "x-original-uri": "/api/v1/orders?page=2" };
  return service.ask("GET", `/api/v1/auth${query}`, { headers: { ...usual, ...headers }, key: service.keys.check });
}

it("answers a proxy by status, with the headers of a check", async () => {
  const first = await auth({});
  expect([first.status, first.text]).toEqual([204, ""]);
  expect(first.headers.get("ratelimit")).toMatch(/^"orders";r=1;t=\d+$/);
  await auth({});
  const denied = await auth({});
  expect([denied.status, denied.body.code]).toEqual([429, "quota_exceeded"]);
  expect(Number(denied.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(denied.headers.get("headgate-denied")).toBe("429");
});

it("denies with 403 for nginx, which takes 429 for a failure", async () => {
  await auth({ "x-headgate-cost": "2" });
  const denied = await auth({}, "?denied=403");
  expect([denied.status, denied.body.status, denied.body.code]).toEqual([403, 403, "quota_exceeded"]);
  expect(denied.headers.get("headgate-denied")).toBe("429");
  expect(denied.headers.get("retry-after")).not.toBeNull();
});

it("takes the endpoint that it is told before the URI", async () => {
  const answer = await auth({ "x-headgate-endpoint": "/elsewhere" });
  expect([answer.status, answer.headers.get("ratelimit")]).toEqual([204, null]);
});

it("counts by address", async () => {
  const by = { "x-headgate-dimension": "ip", "x-headgate-identifier": "192.0.2.1" };
  expect((await auth(by)).status).toBe(204);
  expect((await auth(by)).status).toBe(429);
  expect((await auth({ ...by, "x-headgate-identifier": "192.0.2.2" })).status).toBe(204);
});

it("heeds no idempotency key: a client of the proxy may have sent it", async () => {
  const key = { "x-idempotency-key": "a" };
  expect((await auth(key)).status).toBe(204);
  expect((await auth(key)).status).toBe(204);
  expect((await auth(key)).status).toBe(429);
});

it("refuses what it cannot ask about", async () => {
  const bad = [
    [{ "x-headgate-identifier": "" }, "x-headgate-identifier"],
    [{ "x-headgate-dimension": "galaxy" }, "x-headgate-dimension"],
    [{ "x-headgate-cost": "many" }, "x-headgate-cost"],
  ] as const;
  for (const [headers, field] of bad) {
    const { status, body } = await auth(headers);
    expect([status, body.errors[0].in, body.errors[0].field]).toEqual([400, "header", field]);
  }
  const none = await service.ask("GET", "/api/v1/auth", { headers: { "x-headgate-identifier": "1" } });
  expect([none.status, none.body.errors[0].field]).toEqual([400, "X-Headgate-Endpoint"]);
});
