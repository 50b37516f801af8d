import { describe, expect, it } from "vitest";
import { watch } from "../../../test/limiter/watched-promise.ts";
import { type Context, context, giveUp, TODAY_MS } from "../../../test/wrappers/resilient/context.ts";
import { gcra, rateLimiter } from "../../index.ts";

function limiterOver({ store, clock }: Context) {
  return rateLimiter({ ten: gcra("10/10s") }, { store, clock });
}

describe("a wait in an outage", () => {
  it("under deny asks once for each probe, and is served when the store is back", async () => {
    const scene = context({ onError: "deny" });
    await giveUp(scene);
    const waiting = watch(scene.clock, limiterOver(scene).wait("ten", "k"));
    await scene.clock.advance(10_000);
    expect(scene.inner.calls).toHaveLength(40);
    // Its denials, and the five calls of giving up.
    expect(scene.store.stats.fallbacks.deny).toBeLessThanOrEqual(5 + 41);
    scene.inner.mood = "well";
    await scene.clock.advance(250);
    expect(waiting.value).toMatchObject({ allowed: true, source: "store" });
  });

  it("under deny returns the denial when its time is over", async () => {
    const scene = context({ onError: "deny" });
    await giveUp(scene);
    const waiting = watch(scene.clock, limiterOver(scene).wait("ten", "k", { maxWaitMs: 600 }));
    await scene.clock.advance(1_000);
    expect(waiting).toMatchObject({ at: TODAY_MS + 500, value: { allowed: false, degraded: true } });
  });

  it("under local waits for the share", async () => {
    const scene = context();
    await giveUp(scene);
    const limiter = limiterOver(scene);
    await limiter.check("ten", "k", { cost: 10 });
    const waiting = watch(scene.clock, limiter.wait("ten", "k"));
    await scene.clock.advance(2_000);
    expect(waiting).toMatchObject({ at: TODAY_MS + 1_000, value: { allowed: true, source: "fallback" } });
  });

  it("under local for more than the share waits for the store", async () => {
    const scene = context({ nodes: 5 });
    await giveUp(scene);
    const waiting = watch(scene.clock, limiterOver(scene).wait("ten", "k", { cost: 8 }));
    await scene.clock.advance(1_000);
    expect(waiting.at).toBeUndefined();
    scene.inner.mood = "well";
    await scene.clock.advance(250);
    expect(waiting.value).toMatchObject({ allowed: true, source: "store" });
  });

  it("under allow does not wait", async () => {
    const scene = context({ onError: "allow" });
    await giveUp(scene);
    expect(await limiterOver(scene).wait("ten", "k")).toMatchObject({
      allowed: true,
      source: "fallback",
      degraded: true,
    });
  });
});
