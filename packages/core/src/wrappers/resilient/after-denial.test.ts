import { describe, expect, it } from "vitest";
import { subjects } from "../../../test/stores/conformance/subjects.ts";
import { type Context, context, giveUp, operation, rule, ten } from "../../../test/wrappers/resilient/context.ts";
import { type Answer, fixedWindow, gcra, slidingWindow } from "../../index.ts";
import type { Policy } from "../../wrappers/resilient/on-error.ts";

const FALLBACK = { source: "fallback", degraded: true };
const SECOND = 1_000_000;
const POLICIES: readonly Policy[] = ["local", "allow", "deny"];

/** Uses up a key until the store itself denies it. */
async function exhaust(scene: Context, key: string, cost = 1): Promise<Answer> {
  for (;;) {
    const answer = await scene.take(key, cost);
    expect(answer.source).toBe("store");
    if (!answer.allowed) return answer;
  }
}

describe.each(POLICIES)("a key that the store denied, under the policy %s", (onError) => {
  it("stays denied in the fallback until the time that the store gave", async () => {
    const scene = context({ onError });
    const { retryAfter } = await exhaust(scene, "k");
    await giveUp(scene);
    const denied = await scene.take("k");
    expect(denied).toMatchObject({ ...FALLBACK, allowed: false });
    expect(denied.retryAfter).toBe(retryAfter);
    await scene.clock.advance(retryAfter / 1000 - 0.001);
    scene.inner.mood = "rejecting";
    expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: false });
  });

  it("is not denied for longer than that", async () => {
    const scene = context({ onError });
    const { retryAfter } = await exhaust(scene, "k");
    await giveUp(scene);
    await scene.clock.advance(retryAfter / 1000);
    expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: onError !== "deny" });
  });

  it("stays denied for the cost that was denied and more", async () => {
    const scene = context({ onError });
    await scene.take("k", 6);
    expect(await scene.take("k", 5)).toMatchObject({ allowed: false, retryAfter: SECOND, source: "store" });
    await giveUp(scene);
    expect(await scene.take("k", 5)).toMatchObject({ ...FALLBACK, allowed: false });
    expect(await scene.take("k", 7)).toMatchObject({ ...FALLBACK, allowed: false });
    expect(await scene.take("k", 4)).toMatchObject({ ...FALLBACK, allowed: onError !== "deny" });
  });

  it("denies a whole request, and nothing of it is charged", async () => {
    const scene = context({ onError });
    const wide = rule("wide", gcra("100/10s"));
    await exhaust(scene, "k");
    await giveUp(scene);
    const answers = await scene.store.apply("take", [operation(wide, "k", 60), operation(ten, "k")]);
    expect(answers[1]).toMatchObject({ ...FALLBACK, allowed: false });
    if (onError === "deny") return;
    expect(answers[0]).toMatchObject({ ...FALLBACK, allowed: true, remaining: 100 });
    expect(await scene.ask("take", operation(wide, "k", 60))).toMatchObject({ allowed: true });
  });
});

describe("what the store denied", () => {
  it("is forgotten with a reset, before or in the outage", async () => {
    const scene = context({ onError: "allow" });
    await exhaust(scene, "before");
    await exhaust(scene, "in it");
    await scene.ask("reset", operation(ten, "before"));
    await giveUp(scene);
    expect(await scene.take("before", 10)).toMatchObject({ ...FALLBACK, allowed: true });
    expect(await scene.take("in it")).toMatchObject({ ...FALLBACK, allowed: false });
    await scene.ask("reset", operation(ten, "in it"));
    expect(await scene.take("in it", 10)).toMatchObject({ ...FALLBACK, allowed: true });
  });

  it("is forgotten with a reset also if it was learned while the reset was under way", async () => {
    const scene = context({ onError: "allow" });
    await scene.take("k", 8);
    const [denied] = await Promise.all([scene.take("k", 5), scene.ask("reset", operation(ten, "k"))]);
    expect(denied).toMatchObject({ allowed: false, source: "store" });
    await giveUp(scene);
    expect(await scene.take("k", 5)).toMatchObject({ ...FALLBACK, allowed: true });
  });

  it("is not renewed by a repeated answer", async () => {
    const scene = context({ onError: "allow" });
    const once = { idempotencyKey: "once" };
    await exhaust(scene, "k");
    const { retryAfter } = await scene.ask("take", operation(ten, "k"), once);
    await scene.clock.advance(retryAfter / 1000);
    expect(await scene.ask("take", operation(ten, "k"), once)).toMatchObject({ allowed: false, source: "store" });
    await giveUp(scene);
    expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: true });
  });

  it("is over when the store has let as much pass since, and not when it let less pass", async () => {
    const scene = context({ onError: "allow" });
    await scene.take("k", 6);
    await scene.take("k", 5);
    await scene.take("k", 1);
    await giveUp(scene);
    expect(await scene.take("k", 5)).toMatchObject({ allowed: false });
    await scene.clock.advance(250);
    scene.inner.mood = "well";
    await scene.ask("refund", operation(ten, "k", 7));
    expect(await scene.take("k", 5)).toMatchObject({ allowed: true, source: "store" });
    await giveUp(scene);
    expect(await scene.take("k", 5)).toMatchObject({ ...FALLBACK, allowed: true });
  });

  it("does not hold under a changed limit", async () => {
    const scene = context({ onError: "allow" });
    await exhaust(scene, "k");
    await giveUp(scene);
    const raised = rule("ten", gcra("20/10s"));
    expect(await scene.ask("take", operation(raised, "k"))).toMatchObject({ ...FALLBACK, allowed: true });
  });

  it("is another matter for each rule", async () => {
    const scene = context({ onError: "allow" });
    await exhaust(scene, "k");
    await giveUp(scene);
    expect(await scene.ask("take", operation(rule("other", ten.limit), "k"))).toMatchObject({ allowed: true });
    expect(await scene.take("another")).toMatchObject({ allowed: true });
  });

  it("is not lifted by a repeated answer from before", async () => {
    const scene = context({ onError: "allow" });
    const once = { idempotencyKey: "once" };
    await scene.ask("take", operation(ten, "k"), once);
    await exhaust(scene, "k");
    expect(await scene.ask("take", operation(ten, "k"), once)).toMatchObject({ allowed: true, source: "store" });
    await giveUp(scene);
    expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: false });
  });

  it("lasts no longer because the clock was set back", async () => {
    const scene = context({ onError: "allow" });
    const { retryAfter } = await exhaust(scene, "k");
    await giveUp(scene);
    scene.clock.set(scene.clock.now() / 1000 - 3_600_000);
    expect(await scene.take("k")).toMatchObject({ allowed: false });
    scene.inner.mood = "rejecting";
    await scene.clock.advance(retryAfter / 1000);
    expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: true });
  });

  it("is learned from an answer that came too late, too", async () => {
    const scene = context({ onError: "allow", breaker: { failures: 100 } });
    await scene.take("k", 10);
    scene.inner.mood = "slow";
    scene.inner.slowMs = 80;
    const late = scene.take("k");
    await scene.clock.advance(50);
    expect(await late).toMatchObject({ ...FALLBACK, allowed: true });
    await scene.clock.advance(30);
    scene.inner.mood = "rejecting";
    expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: false });
  });
});

describe("the local share of a key that the store has reported on", () => {
  it("starts with what the store had left, divided by the processes", async () => {
    const scene = context({ nodes: 2 });
    await scene.take("k", 6);
    await giveUp(scene);
    expect(await scene.ask("peek", operation(ten, "k"))).toMatchObject({ ...FALLBACK, allowed: true, remaining: 2 });
    expect(await scene.take("k", 2)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await scene.take("k")).toMatchObject({ allowed: false });
    expect(await scene.ask("peek", operation(ten, "unknown"))).toMatchObject({ remaining: 5 });
  });

  it("is full if the quota has come back since", async () => {
    const scene = context({ nodes: 2 });
    await scene.take("k", 6);
    await scene.clock.advance(6_000);
    await giveUp(scene);
    expect(await scene.ask("peek", operation(ten, "k"))).toMatchObject({ ...FALLBACK, remaining: 5 });
  });

  it("counts what the store let pass between two outages", async () => {
    const hourly = rule("hourly", fixedWindow("10/h"));
    const scene = context();
    const take = (cost: number): Promise<Answer> => scene.ask("take", operation(hourly, "k", cost));
    await giveUp(scene);
    expect(await take(2)).toMatchObject({ ...FALLBACK, remaining: 8 });
    await scene.clock.advance(250);
    scene.inner.mood = "well";
    expect(await take(7)).toMatchObject({ source: "store", remaining: 3 });
    await giveUp(scene);
    expect(await take(3)).toMatchObject({ ...FALLBACK, allowed: true, remaining: 0 });
    expect(await take(1)).toMatchObject({ ...FALLBACK, allowed: false });
  });

  it("keeps one unit where there are more processes than units", async () => {
    const few = rule("few", fixedWindow("3/h"));
    const scene = context({ nodes: 4 });
    await scene.ask("take", operation(few, "k", 2));
    await scene.ask("take", operation(few, "gone", 3));
    await giveUp(scene);
    expect(await scene.ask("take", operation(few, "k"))).toMatchObject({ ...FALLBACK, allowed: true, remaining: 0 });
    expect(await scene.ask("take", operation(few, "gone"))).toMatchObject({ ...FALLBACK, allowed: false });
  });

  it("belongs to the window that the report was of", async () => {
    const perSecond = rule("second", slidingWindow("10/s"));
    const scene = context();
    await scene.ask("take", operation(perSecond, "k", 10));
    await giveUp(scene);
    expect(await scene.ask("peek", operation(perSecond, "k", 0))).toMatchObject({ remaining: 0 });
    await scene.clock.advance(2_000);
    scene.inner.mood = "rejecting";
    expect(await scene.ask("peek", operation(perSecond, "k", 0))).toMatchObject({ remaining: 10 });
  });
});

describe.each(subjects)("$name, denied by the store", ({ make }) => {
  it("passes nothing in the outage until the store would have", async () => {
    const scene = context();
    const asked = rule("asked", make({ limit: 10, windowMs: 10_000 }));
    for (let i = 0; i < 10; i += 1) await scene.ask("take", operation(asked));
    const { allowed, retryAfter } = await scene.ask("take", operation(asked));
    expect(allowed).toBe(false);
    await giveUp(scene);
    for (const share of [0, 0.5, 0.499]) {
      await scene.clock.advance((share * retryAfter) / 1000);
      scene.inner.mood = "rejecting";
      expect(await scene.ask("take", operation(asked))).toMatchObject({ ...FALLBACK, allowed: false });
    }
  });
});
