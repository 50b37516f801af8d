import { describe, expect, it } from "vitest";
import { request, rule, world } from "../../test/checks/fixtures.ts";

const shadow = rule({ rule_id: "shadow", mode: "shadow", endpoint_pattern: "/api/**", limit: 2 });

describe("a shadow limit", () => {
  it("decides and is shown, and refuses nothing", async () => {
    const { service, told } = await world([rule(), shadow]);
    const outcomes = [];
    for (let i = 0; i < 4; i += 1) {
      const { allowed, decisive, shadow_limits: shadow } = await service.check(request());
      outcomes.push([allowed, decisive?.rule_id, shadow[0].allowed, shadow[0].current_count]);
    }
    expect(outcomes).toEqual([
      [true, "all", true, 1],
      [true, "all", true, 2],
      [true, "all", false, 2],
      [true, "all", false, 2],
    ]);
    expect(told.decisions.map(({ result }) => result.shadow[0].allowed)).toEqual([true, true, false, false]);
  });

  it("alone leaves the request without a decisive limit", async () => {
    const { service } = await world([shadow]);
    for (let i = 0; i < 3; i += 1) await service.check(request());
    expect(await service.check(request())).toMatchObject({ allowed: true, decisive: undefined, limits: [] });
  });

  it("that would deny does not keep another from being charged", async () => {
    const { service } = await world([shadow, rule({ ...shadow, rule_id: "wide", endpoint_pattern: "/**", limit: 10 })]);
    for (let i = 0; i < 5; i += 1) await service.check(request());
    const { shadow_limits: shown } = await service.peek(request());
    expect(Object.fromEntries(shown.map(({ rule_id, current_count }) => [rule_id, current_count]))).toEqual({
      shadow: 2,
      wide: 5,
    });
  });

  it("is not charged for what is refused anyway, as it would not be if it were enforced", async () => {
    const { service } = await world([rule({ limit: 1 }), rule({ ...shadow, limit: 5 })]);
    for (let i = 0; i < 4; i += 1) await service.check(request());
    expect(await service.peek(request())).toMatchObject({ allowed: false, shadow_limits: [{ current_count: 1 }] });
  });

  it("is not charged by a peek", async () => {
    const { service } = await world([shadow]);
    for (let i = 0; i < 4; i += 1) await service.peek(request());
    expect(await service.peek(request())).toMatchObject({ shadow_limits: [{ current_count: 0, allowed: true }] });
  });

  it("has a state that is reported, but not audited", async () => {
    const { service, told, audited } = await world([shadow]);
    for (let i = 0; i < 3; i += 1) await service.check(request());
    await service.close();
    expect(told.transitions).toEqual(["shadow: normal -> throttled"]);
    expect(audited).toEqual([]);
  });
});
