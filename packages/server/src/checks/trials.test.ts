import { describe, expect, it } from "vitest";
import { request, rule, userData, world } from "../../test/checks/fixtures.ts";
import { NodeTelemetry } from "../metrics/node-telemetry.ts";
import { shareOf } from "./enforce-share.ts";

describe("the candidate of a rule", () => {
  const candidate = { limit: 2, burst: null, window_seconds: null, algorithm: null };

  it("is reported and never denies, with a counter of its own", async () => {
    const { service, told } = await world([rule({ limit: 4, candidate })]);
    const results = [];
    for (let i = 0; i < 5; i += 1) results.push(await service.check(request()));
    expect(results.map(({ allowed }) => allowed)).toEqual([true, true, true, true, false]);
    expect(
      results.map(({ shadow_limits: [{ allowed, remaining, candidate }] }) => [allowed, remaining, candidate]),
    ).toEqual([
      [true, 1, true],
      [true, 0, true],
      [false, 0, true],
      [false, 0, true],
      [false, 0, true],
    ]);
    expect(results.map(({ decisive }) => decisive?.remaining)).toEqual([3, 2, 1, 0, 0]);
    const telemetry = new NodeTelemetry();
    for (const { request, result } of told.decisions) telemetry.decided(request, result, 0);
    const tally = telemetry.tally.rules.get("all");
    expect(tally).toMatchObject({ candidateDenied: 3, shadowDenied: 0 });
    expect([tally?.allowed[0], tally?.denied[0]]).toEqual([4, 1]);
    // The states of a rule are those of the limit in force.
    expect(told.transitions).toEqual(["all: normal -> throttled"]);
  });

  it("can have another window and algorithm, and applies in shadow mode and to users with limits of their own", async () => {
    const other = { limit: 3, burst: 1, window_seconds: 3_600, algorithm: "gcra" } as const;
    const { service, users } = await world([rule({ limit: 4, mode: "shadow", candidate: other })]);
    users.set("42", userData("42", { custom_limits: { all: { limit: 1 } } }));
    await service.check(request());
    const { allowed, shadow_limits } = await service.check(request());
    expect(allowed).toBe(true);
    expect(shadow_limits).toMatchObject([
      { rule_id: "all", limit: 1, window_seconds: 60, allowed: false, origin: "custom" },
      { rule_id: "all", limit: 3, burst: 1, window_seconds: 3_600, allowed: false, candidate: true },
    ]);
  });

  it("starts again when the usage of an identity is reset, and repeats with an idempotency key", async () => {
    const { service } = await world([rule({ candidate })]);
    const left = async (idempotencyKey?: string): Promise<number> =>
      (await service.check(request({ idempotencyKey }))).shadow_limits[0].remaining;
    expect([await left("a"), await left("a"), await left("b")]).toEqual([1, 1, 0]);
    const identity = { identifier: "42", dimension: "user" } as const;
    expect(await service.reset(identity, { id: "k", name: "k" })).toEqual({ reset: ["all"] });
    expect(await left()).toBe(1);
  });
});

describe("enforce_share", () => {
  it("enforces a rule for a share of the keys, and only reports for the others", async () => {
    const { service, told, audited } = await world([rule({ limit: 1, enforce_share: 0.1 })]);
    const denied: string[] = [];
    for (let i = 0; i < 1_000; i += 1) {
      const asked = request({ identifier: `u${i}` });
      await service.check(asked);
      const { allowed, limits, shadow_limits } = await service.check(asked);
      if (!allowed) denied.push(asked.identifier);
      expect([...limits, ...shadow_limits]).toMatchObject([{ rule_id: "all", allowed: false, remaining: 0 }]);
      expect(limits).toHaveLength(allowed ? 0 : 1);
    }
    expect(denied.length).toBeGreaterThan(70);
    expect(denied.length).toBeLessThan(130);
    const telemetry = new NodeTelemetry();
    for (const { request, result } of told.decisions) telemetry.decided(request, result, 0);
    expect(telemetry.tally.rules.get("all")?.shadowDenied).toBe(1_000 - denied.length);
    await service.close();
    expect(audited.filter(({ action }) => action === "state.throttled")).toHaveLength(denied.length);
  });

  it("keeps the keys for which a rule is enforced when the share grows, and chooses others for other rules", async () => {
    const enforcedFor = async (share: number, rule_id = "all"): Promise<Set<string>> => {
      const { service } = await world([rule({ rule_id, enforce_share: share })]);
      const those = new Set<string>();
      for (let i = 0; i < 300; i += 1) {
        const { limits } = await service.check(request({ identifier: `u${i}` }));
        if (limits.length > 0) those.add(`u${i}`);
      }
      return those;
    };
    const [tenth, half, all, others] = [
      await enforcedFor(0.1),
      await enforcedFor(0.5),
      await enforcedFor(1),
      await enforcedFor(0.1, "other"),
    ];
    expect([...tenth].filter((key) => !half.has(key))).toEqual([]);
    expect(all.size).toBe(300);
    expect([...others].filter((key) => !tenth.has(key)).length).toBeGreaterThan(10);
  });

  it("spreads similar keys evenly", () => {
    const tenths = new Array<number>(10).fill(0);
    for (let i = 0; i < 100_000; i += 1) tenths[Math.floor(10 * shareOf(`all\0ip:10.0.${i >> 8}.${i & 255}`))] += 1;
    expect(Math.min(...tenths)).toBeGreaterThan(9_500);
    expect(Math.max(...tenths)).toBeLessThan(10_500);
  });
});
