import { status } from "@grpc/grpc-js";
import { ManualClock } from "headgate/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { KeyRing } from "../../src/access/key-ring.ts";
import { WrongKeys } from "../../src/access/wrong-keys.ts";
import { by, call, check, served } from "../transports/grpc/fixtures.ts";
import { startService } from "../transports/rest/service.ts";

const ADMIN_KEY = "planted-admin-key";

function counted(perMinute = 3) {
  const clock = new ManualClock(Date.now());
  const lines: Record<string, unknown>[] = [];
  const log = { warn: (fields: object, msg: string) => void lines.push({ ...fields, msg }) };
  return { clock, lines, wrongKeys: new WrongKeys({ perMinute, log, clock }) };
}

describe("wrong keys", () => {
  it("are throttled by address, and accepted again as time passes", async () => {
    const { clock, wrongKeys } = counted();
    for (let i = 0; i < 3; i += 1) {
      expect(wrongKeys.retryAfterMs("192.0.2.1")).toBe(0);
      wrongKeys.note("192.0.2.1", "rest");
    }
    expect(wrongKeys.retryAfterMs("192.0.2.1")).toBe(20_000);
    expect(wrongKeys.retryAfterMs("::ffff:192.0.2.1")).toBe(20_000);
    expect(wrongKeys.retryAfterMs("192.0.2.2")).toBe(0);
    wrongKeys.note("192.0.2.1", "rest");
    expect(wrongKeys.counts).toEqual({ rejected: 3, throttled: 1 });
    await clock.advance(20_000);
    expect(wrongKeys.retryAfterMs("192.0.2.1")).toBe(0);
  });

  it("from one IPv6 network count together", () => {
    const { wrongKeys } = counted(1);
    wrongKeys.note("2001:db8::1", "grpc");
    expect(wrongKeys.retryAfterMs("2001:db8::2")).toBeGreaterThan(0);
    expect(wrongKeys.retryAfterMs("2001:db8:0:1::1")).toBe(0);
  });

  it("are in the log once a minute for an address, ten times in all, with how many there were", async () => {
    const { clock, lines, wrongKeys } = counted();
    for (let i = 0; i < 50; i += 1) wrongKeys.note("192.0.2.1", "rest");
    expect(lines).toEqual([{ address: "192.0.2.1", transport: "rest", rejected: 1, msg: "wrong API key" }]);
    await clock.advance(60_000);
    wrongKeys.note("192.0.2.1", "grpc");
    expect(lines[1]).toMatchObject({ transport: "grpc", rejected: 50 });
    for (let i = 0; i < 200; i += 1) wrongKeys.note(`198.51.100.${i}`, "rest");
    expect(lines.length).toBeLessThanOrEqual(11);
  });
});

describe("over REST", () => {
  it("are 401, then 429, while right keys from the same address keep working", async () => {
    const { lines, wrongKeys } = counted();
    let ring: KeyRing | undefined;
    const service = await startService({
      parts: ({ database }) => {
        ring = new KeyRing(database as never, { adminKey: ADMIN_KEY });
        return { wrongKeys, keyRing: ring };
      },
    });
    onTestFinished(() => service.stop());
    await ring?.refresh();
    const statuses: number[] = [];
    for (let i = 0; i < 5; i += 1)
      statuses.push((await service.ask("GET", "/api/v1/rules", { key: `guess-${i}` })).status);
    expect(statuses).toEqual([401, 401, 401, 429, 429]);
    const late = await service.ask("GET", "/api/v1/rules", { key: ADMIN_KEY });
    expect([late.status, late.body.code]).toEqual([429, "too_many_wrong_keys"]);
    expect(late.headers.get("retry-after")).toBe("20");
    expect((await service.ask("GET", "/api/v1/rules")).status).toBe(200);
    expect((await service.ask("GET", "/api/v1/rules", { key: null })).status).toBe(401);
    expect(JSON.stringify(lines)).not.toMatch(/guess|planted/);
    expect(lines).toHaveLength(1);
  });

  it("do not lock out an admin key that was seen before", async () => {
    const { wrongKeys } = counted();
    let ring: KeyRing | undefined;
    const service = await startService({
      parts: ({ database }) => {
        ring = new KeyRing(database as never, { adminKey: ADMIN_KEY });
        return { wrongKeys, keyRing: ring };
      },
    });
    onTestFinished(() => service.stop());
    await ring?.refresh();
    const asAdmin = async () => (await service.ask("GET", "/api/v1/rules", { key: ADMIN_KEY })).status;
    expect(await asAdmin()).toBe(200);
    for (let i = 0; i < 5; i += 1) await service.ask("GET", "/api/v1/rules", { key: `guess-${i}` });
    expect(await asAdmin()).toBe(200);
    await ring?.refresh();
    expect(await asAdmin()).toBe(200);
  });
});

it("over gRPC are UNAUTHENTICATED, then RESOURCE_EXHAUSTED, counted once for each call", async () => {
  const { wrongKeys } = counted();
  const { client } = await served([], { wrongKeys });
  const codes: unknown[] = [];
  for (let i = 0; i < 5; i += 1) {
    await call(client, client.checkRateLimit, check(), by(`guess-${i}`)).catch(({ code }) => codes.push(code));
  }
  const { UNAUTHENTICATED, RESOURCE_EXHAUSTED } = status;
  expect(codes).toEqual([UNAUTHENTICATED, UNAUTHENTICATED, UNAUTHENTICATED, RESOURCE_EXHAUSTED, RESOURCE_EXHAUSTED]);
  expect(wrongKeys.counts).toEqual({ rejected: 3, throttled: 2 });
  await call(client, client.checkRateLimit, check());
});
