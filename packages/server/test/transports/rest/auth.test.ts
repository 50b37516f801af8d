import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ruleOf, type Service, startService } from "./service.ts";

let service: Service;
beforeEach(async () => {
  service = await startService({
    rules: [ruleOf({ limit: 2 }), ruleOf({ rule_id: "by-ip", dimension: "ip", endpoint_pattern: "/**", limit: 1 })],
  });
});
afterEach(() => service.stop());

interface Answered {
  readonly status: number | undefined;
  readonly rateLimit: string | string[] | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: what an answer holds is what the tests find out.
  readonly body: any;
}

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

/** Asks with headers that may come twice, and whose values are these bytes. */
async function authRaw(...headers: readonly (readonly [name: string, value: string])[]): Promise<Answered> {
  const asked = request({
    host: "127.0.0.1",
    port: service.port,
    path: "/api/v1/auth",
    headers: [["host", "headgate"], ["authorization", `Bearer ${service.keys.check}`], ...headers].flatMap(
      ([name, value]) => [name, Buffer.from(value).toString("latin1")],
    ),
  });
  asked.end();
  const [response]: IncomingMessage[] = await once(asked, "response");
  const text = await new Response(Readable.toWeb(response) as ReadableStream).text();
  const { ratelimit: rateLimit } = response.headers;
  return { status: response.statusCode, rateLimit, body: text && JSON.parse(text) };
}

it("charges a cost of digits, and nothing for 0", async () => {
  expect((await auth({ "x-headgate-cost": "0" })).headers.get("ratelimit")).toMatch(/^"orders";r=2;/);
  expect((await auth({ "x-headgate-cost": "002" })).headers.get("ratelimit")).toMatch(/^"orders";r=0;/);
});

it.each([
  ["X-Headgate-Identifier", "43"],
  ["X-Headgate-Dimension", "ip"],
  ["X-Headgate-Endpoint", "/elsewhere"],
  ["X-Original-URI", "/elsewhere"],
  ["X-Headgate-Cost", "0"],
])("refuses a second %s, which may be a client's own", async (name, value) => {
  const usual = [
    ["X-Headgate-Identifier", "42"],
    ["X-Headgate-Dimension", "user"],
    ["X-Headgate-Endpoint", "/api/v1/orders"],
    ["X-Original-URI", "/api/v1/orders"],
    ["X-Headgate-Cost", "1"],
  ] as const;
  expect((await authRaw(...usual)).status).toBe(204);
  for (const headers of [
    [[name, value] as const, ...usual],
    [...usual, [name.toLowerCase(), value] as const],
  ]) {
    const { status, body } = await authRaw(...headers);
    expect([status, body.errors[0].in, body.errors[0].field]).toEqual([400, "header", name]);
  }
  expect((await authRaw(...usual)).rateLimit).toMatch(/^"orders";r=0;/);
});

it("reads headers as UTF-8, as the body of a check is", async () => {
  const who = "Jörg 👍";
  const { status, rateLimit } = await authRaw(["X-Headgate-Identifier", who], ["X-Original-URI", "/api/v1/orders"]);
  expect([status, rateLimit]).toEqual([204, expect.stringMatching(/^"orders";r=1;/)]);
  const body = { identifier: who, endpoint: "/api/v1/orders" };
  expect((await service.ask("POST", "/api/v1/check", { body })).body.remaining).toBe(0);
  const latin1 = { "x-headgate-identifier": "J\xf6rg" };
  expect((await auth(latin1)).body.errors[0]).toMatchObject({ in: "header", field: "X-Headgate-Identifier" });
});

it("refuses what it cannot ask about", async () => {
  const bad = [
    [{ "x-headgate-identifier": "" }, "x-headgate-identifier"],
    [{ "x-headgate-dimension": "galaxy" }, "x-headgate-dimension"],
    ...["many", "", " ", "-1", "+1", "1.0", "1e0", "0x1", "1 1", "9007199254740992", "0".repeat(17)].map(
      (cost) => [{ "x-headgate-cost": cost }, "x-headgate-cost"] as const,
    ),
  ] as const;
  for (const [headers, field] of bad) {
    const { status, body } = await auth(headers);
    expect([status, body.errors[0].in, body.errors[0].field]).toEqual([400, "header", field]);
  }
  const none = await service.ask("GET", "/api/v1/auth", { headers: { "x-headgate-identifier": "1" } });
  expect([none.status, none.body.errors[0].field]).toEqual([400, "X-Headgate-Endpoint"]);
});
