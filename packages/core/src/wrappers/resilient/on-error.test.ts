import { describe, expect, it } from "vitest";
import { type Context, context, giveUp, operation, rule, ten } from "../../../test/wrappers/resilient/context.ts";
import { type Action, type Answer, gcra, tokenBucket } from "../../index.ts";
import type { Policy } from "../../wrappers/resilient/on-error.ts";

const ACTIONS: readonly Action[] = ["take", "peek", "penalize", "refund", "reset"];
const FALLBACK = { source: "fallback", degraded: true };
const SECOND = 1_000_000;

/** What each action is answered by a store in an outage, the key having been charged 4 before that and 2 in it. */
async function inOutage(scene: Context, action: Action, cost: number): Promise<Answer> {
  await scene.take("k", 4);
  await giveUp(scene);
  await scene.take("k", 2);
  return scene.ask(action, operation(ten, "k", cost));
}

describe("under the policy allow", () => {
  it.each(ACTIONS)("%s is answered as allowed and with nothing used, for nothing is counted", async (action) => {
    const scene = context({ onError: "allow" });
    for (let i = 0; i < 30; i += 1) {
      expect(await inOutage(scene, action, 3)).toEqual({
        ...FALLBACK,
        time: scene.clock.now(),
        allowed: true,
        remaining: 10,
        retryAfter: 0,
        resetAfter: 0,
      });
    }
  });

  it("what no limit of that size could ever allow is not allowed either", async () => {
    const scene = context({ onError: "allow" });
    expect(await inOutage(scene, "take", 10)).toMatchObject({ allowed: true });
    for (const action of ["take", "peek"] as const) {
      const answer = await scene.ask(action, operation(ten, "k", 11));
      expect(answer).toMatchObject({
        ...FALLBACK,
        allowed: false,
        retryAfter: Number.POSITIVE_INFINITY,
        remaining: 10,
      });
    }
    // The cost of a correction is no question.
    expect(await scene.ask("penalize", operation(ten, "k", 11))).toMatchObject({ allowed: true, retryAfter: 0 });
  });
});

describe("under the policy deny", () => {
  it.each(ACTIONS)("%s is answered as denied until the store is asked again", async (action) => {
    const scene = context({ onError: "deny" });
    await inOutage(scene, action, 3);
    await scene.clock.advance(100);
    expect(await scene.ask(action, operation(ten, "k", 3))).toEqual({
      ...FALLBACK,
      time: scene.clock.now(),
      allowed: false,
      remaining: 0,
      retryAfter: 150_000,
      resetAfter: 150_000,
    });
    await scene.clock.advance(149.9);
    // Less than a millisecond is reported as one, or waiting calls would spin.
    expect(await scene.ask(action, operation(ten, "k", 3))).toMatchObject({ retryAfter: 1_000 });
  });

  it("a call that fails while the store is still asked gets the same wait", async () => {
    const scene = context({ onError: "deny", breaker: { retryMs: 400 } });
    scene.inner.mood = "rejecting";
    expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: false, retryAfter: 400_000 });
  });

  it("a cost that never fits is reported as such", async () => {
    const scene = context({ onError: "deny" });
    expect(await inOutage(scene, "take", 11)).toMatchObject({ allowed: false, retryAfter: Number.POSITIVE_INFINITY });
  });
});

describe("under the policy local", () => {
  // The share starts from what the store last reported: 4 of 10 used.
  it.each([
    ["take", { allowed: true, remaining: 1, retryAfter: 0, resetAfter: 9 * SECOND }],
    ["peek", { allowed: true, remaining: 4, retryAfter: 0, resetAfter: 6 * SECOND }],
    ["penalize", { allowed: true, remaining: 1, retryAfter: 0, resetAfter: 9 * SECOND }],
    ["refund", { allowed: true, remaining: 7, retryAfter: 0, resetAfter: 3 * SECOND }],
    ["reset", { allowed: true, remaining: 10, retryAfter: 0, resetAfter: 0 }],
  ] as const)("%s is done to the share", async (action, answer) => {
    const scene = context();
    const answered = await inOutage(scene, action, 3);
    expect(answered).toEqual({ ...FALLBACK, ...answer, time: scene.clock.now() });
  });

  it("a limit that is exceeded here is a denial", async () => {
    const scene = context();
    await giveUp(scene);
    for (let i = 0; i < 10; i += 1) expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: true });
    for (let i = 0; i < 10; i += 1) {
      expect(await scene.take("k")).toMatchObject({ ...FALLBACK, allowed: false, retryAfter: SECOND });
    }
    expect(await scene.take("another")).toMatchObject({ allowed: true });
    await scene.clock.advance(1);
    expect(await scene.take("k")).toMatchObject({ allowed: false, retryAfter: SECOND - 1_000 });
  });

  it("what was used here stays used when the store fails again, unless the key is reset meanwhile", async () => {
    const scene = context();
    await giveUp(scene);
    await scene.take("k", 10);
    await scene.take("reset", 10);
    await scene.clock.advance(250);
    scene.inner.mood = "well";
    expect(await scene.take("k", 10)).toMatchObject({ allowed: true, source: "store" });
    expect(await scene.ask("reset", operation(ten, "reset"))).toMatchObject({ source: "store" });
    await giveUp(scene);
    expect(await scene.take("k", 10)).toMatchObject({ ...FALLBACK, allowed: false });
    expect(await scene.take("reset", 10)).toMatchObject({ ...FALLBACK, allowed: true });
  });

  it("a changed limit counts from the next request on, and what was used stays used", async () => {
    const scene = context({ nodes: 2 });
    await giveUp(scene);
    const wide = rule("r", gcra("20/10s"));
    const narrow = rule("r", gcra("10/10s"));
    expect(await scene.ask("take", operation(wide, "k", 4))).toMatchObject({ remaining: 6 });
    expect(await scene.ask("take", operation(narrow, "k", 1))).toMatchObject({ allowed: true, remaining: 0 });
    expect(await scene.ask("take", operation(narrow, "k", 1))).toMatchObject({ allowed: false });
  });
});

describe("a policy by rule", () => {
  const onError = { default: "allow", rules: { strict: "deny", fair: "local" } } as const;
  const strict = rule("strict", gcra("10/10s"));
  const fair = rule("fair", gcra("10/10s"));
  const free = rule("free", tokenBucket("10/10s"));

  it("holds for that rule, and the default for the others", async () => {
    const scene = context({ onError });
    await giveUp(scene);
    for (const [asked, allowed] of [
      [strict, [false, false]],
      [fair, [true, false]],
      [free, [true, true]],
    ] as const) {
      for (const expected of allowed) {
        expect(await scene.ask("take", operation(asked, "k", 6))).toMatchObject({ ...FALLBACK, allowed: expected });
      }
    }
  });

  it("is local where only some rules are named", async () => {
    const scene = context({ onError: { rules: { strict: "deny" } } });
    await giveUp(scene);
    expect(await scene.ask("take", operation(fair, "k", 10))).toMatchObject({ allowed: true, remaining: 0 });
    expect(await scene.ask("take", operation(strict, "k"))).toMatchObject({ allowed: false });
  });

  it("that is the strictest of a request decides for all of it", async () => {
    const scene = context({ onError });
    await giveUp(scene);
    const ask = (...rules: (typeof strict)[]): Answer[] => {
      const answers = scene.store.apply(
        "take",
        rules.map((asked) => operation(asked, "k", 6)),
      );
      return answers as Answer[];
    };
    expect(ask(free, fair, strict)).toMatchObject(Array(3).fill({ allowed: false, remaining: 0, ...FALLBACK }));
    expect(ask(free, fair)).toMatchObject([
      { allowed: true, remaining: 4 },
      { allowed: true, remaining: 4 },
    ]);
    expect(ask(free)).toMatchObject([{ allowed: true, remaining: 10 }]);
    expect(ask(free, fair)).toMatchObject([
      { allowed: false, remaining: 4 },
      { allowed: false, remaining: 4 },
    ]);
    expect(scene.store.stats.fallbacks).toMatchObject({ deny: 1, local: 2 });
  });

  it("may be a function that is called when needed, so that rules can be added and removed", async () => {
    let policy: Policy = "allow";
    const scene = context({ onError: (asked) => (asked === strict ? "deny" : policy) });
    await giveUp(scene);
    expect(await scene.ask("take", operation(fair, "k", 10))).toMatchObject({ allowed: true, remaining: 10 });
    expect(await scene.ask("take", operation(strict, "k"))).toMatchObject({ allowed: false });
    policy = "local";
    expect(await scene.ask("take", operation(fair, "k", 10))).toMatchObject({ allowed: true, remaining: 0 });
  });

  it("that a function makes up is refused", async () => {
    // @ts-expect-error: this is no policy
    const scene = context({ onError: () => "shrug" });
    scene.inner.mood = "rejecting";
    await expect(scene.take("k")).rejects.toMatchObject({ code: "HG_BAD_OPTION", field: "onError" });
  });

  it("charges a request to all of its limits or to none", async () => {
    const scene = context({ onError: "local" });
    await giveUp(scene);
    const wide = rule("wide", gcra("100/10s"));
    await scene.ask("take", operation(fair, "k", 9));
    const both = [operation(wide, "k", 2), operation(fair, "k", 2)];
    expect(await scene.store.apply("take", both)).toMatchObject([
      { allowed: true, remaining: 100 },
      { allowed: false },
    ]);
    expect(await scene.ask("peek", operation(wide, "k", 0))).toMatchObject({ remaining: 100 });
  });

  it("may be for a rule of any name", async () => {
    const rules = JSON.parse('{ "__proto__": "deny" }');
    const scene = context({ onError: { default: "allow", rules } });
    await giveUp(scene);
    for (const name of ["constructor", "toString", ""]) {
      expect(await scene.ask("take", operation(rule(name, ten.limit)))).toMatchObject({ allowed: true });
    }
    expect(await scene.ask("take", operation(rule("__proto__", ten.limit)))).toMatchObject({ allowed: false });
    const counted = Object.entries(scene.store.stats.fallbacksByRule);
    expect(counted).toEqual(
      expect.arrayContaining([
        ["__proto__", 1],
        ["constructor", 1],
      ]),
    );
  });
});
