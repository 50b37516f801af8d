import { ManualClock } from "headgate/testing";
import { afterEach, expect, it } from "vitest";
import { SelfLimits } from "../../../src/transports/shared/own-limits.ts";
import { type Service, startService } from "./service.ts";

let service: Service | undefined;
afterEach(async () => {
  await service?.stop();
  service = undefined;
});

it("allows each admin 100 changes a minute, and says how many are left", async () => {
  service = await startService();
  const put = (key: string) =>
    (service as Service).ask("PUT", "/api/v1/users/1/tier", { body: { tier: "premium" }, key });
  for (let i = 1; i <= 100; i += 1) {
    const { status, headers } = await put(service.keys.write);
    expect([status, headers.get("ratelimit")?.match(/r=(\d+)/)?.[1]]).toEqual([200, String(100 - i)]);
  }
  const denied = await put(service.keys.write);
  expect(denied.status).toBe(429);
  expect(denied.body).toMatchObject({ code: "quota_exceeded", status: 429, "violated-policies": ["config-writes"] });
  expect(denied.headers.get("ratelimit-policy")).toBe('"config-writes";q=100;w=60');
  expect(denied.headers.get("retry-after")).toBe("1");
  expect((await put(service.keys.all)).status).toBe(200);
  expect((await service.ask("GET", "/api/v1/rules", { key: service.keys.read })).status).toBe(200);
  await service.clock.advance(600);
  expect((await put(service.keys.write)).status).toBe(200);
  expect((await put(service.keys.write)).status).toBe(429);
});

it("allows each admin 1,000 reads a minute", async () => {
  service = await startService();
  const { headers } = await service.ask("GET", "/api/v1/rules");
  expect(headers.get("ratelimit-policy")).toBe('"config-reads";q=1000;w=60');
  const limits = new SelfLimits({ clock: new ManualClock() });
  const admit = async (keyId: string) => (await limits.admit("read", keyId)).allowed;
  for (let i = 0; i < 1_000; i += 1) expect(await admit("a")).toBe(true);
  expect(await admit("a")).toBe(false);
  expect(await admit("b")).toBe(true);
});

it("allows the node 100,000 checks a second, whatever their API keys", async () => {
  const clock = new ManualClock();
  const limits = new SelfLimits({ clock });
  expect(limits.admitChecks(99_999).allowed).toBe(true);
  // At once: no check waits for it.
  expect(limits.admit("check", "a")).toMatchObject({ allowed: true });
  expect(limits.admit("check", "b")).toMatchObject({ allowed: false });
  expect(limits.admitChecks(1).allowed).toBe(false);
  await clock.advance(1);
  expect(limits.admitChecks(100).allowed).toBe(true);
  expect(limits.admitChecks(1).allowed).toBe(false);
});

it("has the limits that the settings give it", async () => {
  const clock = new ManualClock();
  const rates = { configReadsLimit: "3/m", configWritesLimit: "1/h", checksLimit: "2/s" } as const;
  const selfLimits = new SelfLimits({ clock, rates });
  service = await startService({ parts: () => ({ selfLimits }) });
  const { headers } = await service.ask("GET", "/api/v1/rules");
  expect(headers.get("ratelimit-policy")).toBe('"config-reads";q=3;w=60');
  const put = () => (service as Service).ask("PUT", "/api/v1/users/1/tier", { body: { tier: null } });
  const statuses = [(await put()).status, (await put()).status];
  expect(statuses).toEqual([200, 429]);
  expect([selfLimits.admitChecks(2).allowed, selfLimits.admitChecks(1).allowed]).toEqual([true, false]);
});

it("answers a check beyond that with 429 and its own headers, without charging any identity", async () => {
  const clock = new ManualClock();
  const selfLimits = new SelfLimits({ clock });
  service = await startService({ parts: () => ({ selfLimits }) });
  selfLimits.admitChecks(100_000);
  const body = { identifier: "1", endpoint: "/api/v1/orders" };
  const denied = await service.ask("POST", "/api/v1/check", { body });
  expect(denied.status).toBe(429);
  expect(denied.body).toMatchObject({ code: "quota_exceeded", "violated-policies": ["checks"] });
  expect(denied.headers.get("ratelimit-policy")).toBe('"checks";q=100000;w=1');
  await clock.advance(1_000);
  const allowed = await service.ask("POST", "/api/v1/check", { body });
  expect([allowed.status, allowed.body.current_count]).toEqual([200, 1]);
});

it("limits neither requests without a key nor public routes", async () => {
  service = await startService();
  for (let i = 0; i < 3; i += 1) await service.ask("GET", "/healthz", { key: null });
  const { headers } = await service.ask("GET", "/healthz", { key: null });
  expect(headers.get("ratelimit")).toBeNull();
  expect((await service.ask("GET", "/api/v1/rules", { key: null })).headers.get("ratelimit")).toBeNull();
});

it("weighs a check of a long path as many", async () => {
  const clock = new ManualClock();
  const selfLimits = new SelfLimits({ clock });
  service = await startService({ parts: () => ({ selfLimits }) });
  selfLimits.admitChecks(100_000 - 34);
  const long = `/${"a".repeat(8_000)}`;
  const ask = (endpoint: string) =>
    (service as Service).ask("POST", "/api/v1/check", { body: { identifier: "1", endpoint } });
  expect((await ask(`/a?${"x".repeat(8_000)}`)).status).toBe(200);
  expect((await ask(long)).status).toBe(200);
  const denied = await ask(long);
  expect([denied.status, denied.body["violated-policies"]]).toEqual([429, ["checks"]]);
  const headers = { "x-headgate-identifier": "1", "x-headgate-endpoint": long };
  expect((await service.ask("GET", "/api/v1/auth", { headers })).status).toBe(429);
});
