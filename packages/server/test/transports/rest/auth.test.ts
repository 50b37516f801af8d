import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { afterEach, beforeEach, expect, it } from "vitest";
import { eventually, ruleOf, type Service, startService } from "./service.ts";

const NOT_APPLIED = "headgate-not-applied";
const SYSTEM = { id: "system", name: "test" };

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

it("names rules that limit concurrent tasks, which it does not apply", async () => {
  const slots = { algorithm: "concurrency", window_seconds: null, limit: 1 } as const;
  await service.database.rules.replace([ruleOf({ limit: 2 }), ruleOf({ rule_id: "slots", ...slots })], SYSTEM);
  const isInForce = async (): Promise<void> => {
    expect((await auth({ "x-headgate-cost": "0" })).headers.has(NOT_APPLIED)).toBe(true);
  };
  await eventually(isInForce, 30_000);
  for (const status of [204, 204, 429]) {
    const answer = await auth({});
    expect([answer.status, answer.headers.get(NOT_APPLIED)]).toEqual([status, '"slots"']);
  }
});

it("denies with 403 for nginx, which takes 429 for a failure", async () => {
  await auth({ "x-headgate-cost": "2" });
  const denied = await auth({}, "?denied=403");
  expect([denied.status, denied.body.status, denied.body.code]).toEqual([403, 403, "quota_exceeded"]);
  expect(denied.headers.get("headgate-denied")).toBe("429");
  expect(denied.headers.get("retry-after")).not.toBeNull();
});

it("prefers the given endpoint to the URI", async () => {
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

it.each(["x-headgate-method", "x-original-method", "x-forwarded-method"])("takes the method from %s", async (name) => {
  await service.database.rules.replace([ruleOf({ rule_id: "posts", methods: ["POST"], limit: 1 })], SYSTEM);
  await eventually(async () => expect((await auth({ [name]: "POST" })).headers.get("ratelimit")).not.toBeNull());
  expect((await auth({ [name]: "post" })).status).toBe(429);
  expect((await auth({ [name]: "GET" })).status).toBe(204);
  expect((await auth({})).status).toBe(204);
});

it("rejects headers that disagree on the method: one of them may be the client's own", async () => {
  const { status, body } = await auth({ "x-forwarded-method": "POST", "x-original-method": "GET" });
  expect([status, body.errors[0].field]).toEqual([400, "X-Headgate-Method"]);
  expect((await auth({ "x-forwarded-method": "POST", "x-original-method": "post" })).status).toBe(204);
  expect((await auth({ "x-headgate-method": "no method" })).status).toBe(400);
});

/** As Traefik and Caddy ask: with every header of the client, and X-Forwarded-* of their own. */
function forwarded(headers: Record<string, string>, query = "?from=forwarded") {
  const set = { "x-forwarded-method": "GET", "x-forwarded-uri": "/pages/1?x=2", "x-forwarded-host": "shop.example" };
  const address = { "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.1" };
  return service.ask("GET", `/api/v1/auth${query}`, {
    headers: { ...set, ...address, ...headers },
    key: service.keys.check,
  });
}

it.each(["", "?from=forwarded"])("reads the request from X-Forwarded-*, with %j", async (query) => {
  expect((await forwarded({}, query)).status).toBe(204);
  const denied = await forwarded({}, query);
  expect([denied.status, denied.body.code]).toEqual([429, "quota_exceeded"]);
  expect(denied.headers.get("retry-after")).not.toBeNull();
  expect((await forwarded({ "x-forwarded-for": "192.0.2.2" }, query)).status).toBe(204);
});

it("ignores what a client adds to X-Forwarded-*, and its X-Headgate-* and X-Original-*", async () => {
  expect((await forwarded({})).status).toBe(204);
  const own = {
    "x-headgate-identifier": "192.0.2.9",
    "x-headgate-dimension": "ip",
    "x-headgate-endpoint": "/free",
    "x-headgate-method": "PUT",
    "x-original-uri": "/free",
    "x-original-method": "PUT",
    "x-headgate-cost": "0",
    "x-forwarded-for": "192.0.2.9, 192.0.2.1",
  };
  expect((await forwarded(own)).status).toBe(429);
});

it("skips the addresses of trusted proxies, from the right", async () => {
  const list = { "x-forwarded-for": "6.6.6.6, 192.0.2.1, 10.0.0.1" };
  expect((await forwarded(list, "?from=forwarded&hops=1")).status).toBe(204);
  expect((await forwarded({}, "?from=forwarded")).status).toBe(429);
  const { status, body } = await forwarded(list, "?from=forwarded&hops=3");
  expect([status, body.errors[0].field]).toEqual([400, "X-Forwarded-For"]);
});

it("charges the cost in a header of the proxy, if configured", async () => {
  const query = "?from=forwarded&identifier_header=X-User";
  const orders = { "x-forwarded-uri": "/api/v1/orders", "x-user": "42" };
  expect((await forwarded(orders, query)).headers.get("ratelimit")).toMatch(/^"orders";r=1;/);
  const { status, body } = await forwarded({ "x-forwarded-uri": "/api/v1/orders" }, query);
  expect([status, body.errors[0].field]).toEqual([400, "X-User"]);
});

it("takes its key from X-Headgate-Key, next to the Authorization of the client", async () => {
  const ask = (headers: Record<string, string>, path = "/api/v1/auth?from=forwarded") => {
    const usual = { "x-forwarded-uri": "/x", "x-forwarded-for": "192.0.2.7", authorization: "Bearer of-the-client" };
    return service.ask("GET", path, { headers: { ...usual, ...headers }, key: null });
  };
  expect((await ask({ "x-headgate-key": service.keys.check })).status).toBe(204);
  expect((await ask({})).status).toBe(401);
  expect((await ask({ "x-headgate-key": "wrong" })).status).toBe(401);
  expect((await ask({ "x-headgate-key": service.keys.read }, "/api/v1/rules")).status, "only here").toBe(401);
});

it.each([
  [{ "x-forwarded-for": "" }, "?from=forwarded", "X-Forwarded-For"],
  [{ "x-forwarded-for": "nowhere" }, "?from=forwarded", "identifier"],
  [{}, "?from=headgate", "X-Headgate-Identifier"],
  [{}, "?hops=17", "hops"],
  [{}, "?from=elsewhere", "from"],
])("refuses %j with %s", async (headers, query, field) => {
  const { status, body } = await forwarded(headers, query);
  expect([status, body.errors[0].field]).toEqual([400, field]);
});
