import { describe, expect, it } from "vitest";
import { request, rule, userData, world } from "../../test/checks/fixtures.ts";

describe("what a user of a small tier has used", () => {
  it("is not forgotten because others of the family refill a thousand times as fast", async () => {
    const hour = { algorithm: "token_bucket" as const, window_seconds: 3_600 };
    const { service, users, clock } = await world([
      rule({ ...hour, limit: 10 }),
      rule({ ...hour, rule_id: "premium", tier: "premium", limit: 1_000_000 }),
    ]);
    await service.check(request({ cost: 10 }));
    users.set("premium", userData("premium", { tier: "premium" }));
    // Rows are looked through as work comes in.
    for (let i = 0; i < 100; i += 1) {
      await clock.advance(100);
      await service.check(request({ identifier: "premium" }));
    }
    expect(await service.check(request())).toMatchObject({ allowed: false, decisive: { current_count: 10 } });
  });
});
