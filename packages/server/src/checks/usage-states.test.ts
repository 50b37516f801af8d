import { describe, expect, it } from "vitest";
import { request, rule, world } from "../../test/checks/fixtures.ts";

describe("the state of a key", () => {
  it("is a warning above 80 %, until below 70 %", async () => {
    const { service, clock, told } = await world([rule({ algorithm: "token_bucket", limit: 10, window_seconds: 10 })]);
    const states: unknown[] = [];
    const check = async (cost: number): Promise<void> => {
      const { decisive } = await service.check(request({ cost }));
      states.push([decisive?.current_count, decisive?.state]);
    };
    await check(8);
    await check(1);
    await clock.advance(3_000);
    await check(1);
    await clock.advance(2_000);
    await check(1);
    await clock.advance(1_000);
    await check(1);
    expect(states).toEqual([
      [8, "normal"],
      [9, "warning"],
      [7, "warning"],
      [6, "normal"],
      [6, "normal"],
    ]);
    expect(told.transitions).toEqual(["all: normal -> warning", "all: warning -> normal"]);
  });

  it("is throttled at 100 %, or when it is refused; and normal when its quota is full again", async () => {
    const { service, clock, told } = await world();
    expect((await service.check(request({ cost: 6 }))).decisive).toMatchObject({ state: "normal" });
    expect((await service.check(request({ cost: 6 }))).decisive).toMatchObject({ state: "throttled", remaining: 4 });
    expect((await service.check(request({ cost: 3 }))).decisive).toMatchObject({ state: "warning" });
    expect((await service.check(request({ cost: 1 }))).decisive).toMatchObject({ state: "throttled", allowed: true });
    await clock.advance(60_000);
    expect((await service.check(request({ cost: 8 }))).decisive).toMatchObject({ state: "normal" });
    expect(told.transitions).toEqual([
      "all: normal -> throttled",
      "all: throttled -> warning",
      "all: warning -> throttled",
    ]);
  });

  it("does not change by asking for more than the limit could ever let pass", async () => {
    const { service, told } = await world();
    expect((await service.check(request({ cost: 11 }))).decisive).toMatchObject({ allowed: false, state: "normal" });
    expect(told.transitions).toEqual([]);
  });

  it("is that of each limit and each identity", async () => {
    const { service } = await world([rule({ limit: 1 }), rule({ rule_id: "day", window_seconds: 86_400, limit: 100 })]);
    const { limits } = await service.check(request());
    expect(limits.map(({ rule_id, state }) => [rule_id, state])).toEqual([
      ["all", "throttled"],
      ["day", "normal"],
    ]);
    expect((await service.peek(request({ identifier: "43", cost: 0 }))).decisive).toMatchObject({ state: "normal" });
  });

  it("is reported, but not changed, by a peek", async () => {
    const { service, told } = await world();
    await service.check(request({ cost: 6 }));
    expect((await service.peek(request({ cost: 9 }))).decisive).toMatchObject({ state: "throttled" });
    expect((await service.peek(request())).decisive).toMatchObject({ state: "normal" });
    expect(told.transitions).toEqual([]);
  });

  it("when it comes to throttled, is audited: who, by which rule, from which state", async () => {
    const { service, audited } = await world([rule({ limit: 1 })]);
    for (let i = 0; i < 5; i += 1) await service.check(request());
    await service.close();
    expect(audited).toEqual([
      {
        at: "2026-01-01T00:00:00.000Z",
        actor_id: "system",
        actor_name: "headgate",
        action: "state.throttled",
        subject: "user:42",
        before: { state: "normal" },
        after: { state: "throttled", rule: "all", limit: 1, burst: 1 },
      },
    ]);
  });
});

describe("the audit log of throttled keys", () => {
  /** Throttles a user in each of a number of minutes, and returns the minutes with an entry in the audit log. */
  async function throttledFor(minutes: number, every?: number | "off"): Promise<number[]> {
    const options = every === undefined ? {} : { auditThrottledEveryMs: every };
    const { service, clock, audited, told } = await world([rule({ limit: 1 })], options);
    for (let minute = 0; minute < minutes; minute += 1) {
      for (let i = 0; i < 3; i += 1) await service.check(request());
      await clock.advance(60_000);
    }
    await service.close();
    expect(told.transitions).toEqual(Array.from({ length: minutes }, () => "all: normal -> throttled"));
    const start = Date.parse("2026-01-01T00:00:00Z");
    return audited.map(({ at }) => (Date.parse(at) - start) / 60_000);
  }

  it("has at most one entry per key, rule and hour", async () => {
    expect(await throttledFor(150)).toEqual([0, 60, 120]);
  });

  it("has one per interval that is set, each time with 0, and none when it is off", async () => {
    expect(await throttledFor(5, 120_000)).toEqual([0, 2, 4]);
    expect(await throttledFor(4, 0)).toEqual([0, 1, 2, 3]);
    expect(await throttledFor(4, "off")).toEqual([]);
  });

  it("distinguishes keys and rules", async () => {
    const rules = [rule({ limit: 1 }), rule({ rule_id: "orders", endpoint_pattern: "/api/v1/orders", limit: 1 })];
    const { service, audited } = await world(rules);
    for (const identifier of ["a", "b"]) {
      for (let i = 0; i < 3; i += 1) await service.check(request({ identifier }));
    }
    await service.close();
    const entries = audited.map(({ subject, after }) => `${subject} ${(after as { rule: string }).rule}`);
    expect(entries.sort()).toEqual(["user:a all", "user:a orders", "user:b all", "user:b orders"]);
  });

  it("has another entry after a reset", async () => {
    const { service, audited } = await world([rule({ limit: 1 })]);
    const throttle = async () => {
      for (let i = 0; i < 2; i += 1) await service.check(request());
    };
    await throttle();
    await service.reset({ identifier: "42", dimension: "user" }, { id: "a", name: "a" });
    await throttle();
    await service.close();
    expect(audited.map(({ action }) => action).sort()).toEqual(["limit.reset", "state.throttled", "state.throttled"]);
  });
});
