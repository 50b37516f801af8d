import { describe, expect, it } from "vitest";
import { fixedWindow } from "../../algorithms/registry.ts";
import { rateLimiter } from "../../rate-limiter.ts";
import { MemoryStore } from "../../stores/memory/memory-store.ts";
import { ManualClock } from "../../testing/manual-clock.ts";
import { leased } from "./leased.ts";

describe("a decision by leased quota", () => {
  it("explains what is held, what the pool had, of which epoch and until when", async () => {
    const clock = new ManualClock();
    const store = leased(new MemoryStore({ clock }), { promoteAfter: 1, base: 10, clock });
    const limiter = rateLimiter({ api: fixedWindow("100/m") }, { store });
    await limiter.check("api", "user:1");
    const decision = await limiter.check("api", "user:1");
    expect(decision).toMatchObject({ allowed: true, source: "lease", remaining: 98 });
    const explanation = decision.explain();
    expect(explanation.lease).toEqual({ held: 9, pool: 89, epoch: 1, deadlineMs: 59_940 });
    expect(String(explanation)).toBe(
      "api (fixed_window, 100 per 60 s); allowed a cost of 1; 98 of 100 left; full again in 60 s; 9 held here until 59.94 s from now (epoch 1), 89 in the pool",
    );
  });
});
