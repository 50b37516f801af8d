import { ManualClock } from "headgate/testing";
import { type RedisServer, startRedis } from "headgate-testkit/redis-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { CheckResult } from "../../src/checks/check.ts";
import { openStores, type Stores } from "../../src/checks/counter-stores.ts";
import { CONSISTENCIES } from "../../src/rules/rule.ts";
import { answerText } from "../../src/transports/rest/check-answer.ts";
import { answerOf } from "../../src/transports/shared/check-fields.ts";
import { request, rule, world } from "./fixtures.ts";

const MINUTE_S = 60;

/** A clock that moves on whenever it is read, as real ones do between a decision and its answer. */
class TickingClock extends ManualClock {
  override now(): number {
    const time = super.now();
    this.set((time + 1) / 1000);
    return time;
  }
}

function told(result: CheckResult): unknown[] {
  const { reset_at, reset_at_ms, limits = [] } = answerOf(result, true);
  expect(JSON.parse(answerText(result, false))).toMatchObject({ reset_at, reset_at_ms });
  return [reset_at, reset_at_ms, ...limits.map((limit) => limit.reset_at_ms)];
}

describe("the reset times of an answer", () => {
  it("are the end of a clock-aligned window, though the clock moves on after the decision", async () => {
    const clock = new TickingClock(Date.parse("2026-01-01T00:00:10Z"));
    const stores = await openStores({ redis: undefined, zookeeper: undefined, nodes: 1 }, {}, clock);
    const { service } = await world([rule({ limit: 2 })], { stores: async () => stores });
    const end = Date.parse("2026-01-01T00:01:00Z");
    for (let i = 0; i < 5; i += 1) expect(told(await service.check(request()))).toEqual([end / 1000, end, end]);
  });

  it("stay as they are when a check is repeated under its idempotency key", async () => {
    const { service, clock } = await world([rule({ algorithm: "token_bucket" })]);
    const once = request({ idempotencyKey: "once" });
    const first = told(await service.check(once));
    await clock.advance(7_654.321);
    expect(told(await service.check(once))).toEqual(first);
    expect(told(await service.check(request()))).not.toEqual(first);
  });
});

describe("the reset times of an answer by Redis", () => {
  let server: RedisServer;
  let stores: Stores;
  beforeAll(async () => {
    server = await startRedis();
    // A busy machine must not make the fallback answer.
    const settings = { redis: server.url, zookeeper: undefined, nodes: 1, storeTimeoutMs: 30_000 };
    stores = await openStores(settings, {});
    await stores.ready();
    await stores.join?.();
  });
  afterAll(async () => {
    await stores?.close();
    await server?.stop();
  });

  it.each(CONSISTENCIES)("are the end of a clock-aligned window, with consistency %s", async (consistency) => {
    const { service } = await world([rule({ consistency, limit: 30 })], { stores: async () => stores });
    const identifier = `${consistency} user`;
    const seen = new Set<string>();
    // More than the limit in each of the windows that this may touch: denials are among them.
    for (let i = 0; i < 80; i += 1) {
      const result = await service.check(request({ identifier }));
      const { reset_at, reset_at_ms } = answerOf(result, false);
      expect([(reset_at ?? 1) % MINUTE_S, (reset_at_ms ?? 1) % (MINUTE_S * 1000)]).toEqual([0, 0]);
      seen.add(`${result.allowed} ${result.decisive?.source}`);
    }
    expect([...seen].some((each) => each.startsWith("false"))).toBe(true);
  });

  it.each(CONSISTENCIES)("stay as they are in a repeated check, with consistency %s", async (consistency) => {
    const { service } = await world([rule({ consistency, algorithm: "token_bucket" })], { stores: async () => stores });
    const once = request({ identifier: `${consistency} again`, idempotencyKey: "once" });
    const first = told(await service.check(once));
    for (let i = 0; i < 5; i += 1) expect(told(await service.check(once))).toEqual(first);
  });
});
