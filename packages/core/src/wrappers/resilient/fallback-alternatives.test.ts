import { describe, expect, it } from "vitest";
import { type Context, context, giveUp, operation, rule, TODAY_MS } from "../../../test/wrappers/resilient/context.ts";
import { FaultyStore } from "../../../test/wrappers/resilient/faulty-store.ts";
import { type Answer, fixedWindow, resilient } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import type { Policy } from "./on-error.ts";

const plan = rule("plan", fixedWindow("3/h"));
const credits = rule("credits", fixedWindow("2/d"));

async function first({ store }: Pick<Context, "store">, rules = [plan, credits], cost = 1): Promise<readonly Answer[]> {
  return store.apply(
    "takeFirst",
    rules.map((each) => operation(each, "k", cost)),
  );
}

/** Which of two rules was charged in each of so many requests; -1 for a denial. */
async function charged(scene: Pick<Context, "store">, requests: number): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < requests; i += 1) all.push((await first(scene)).findIndex(({ allowed }) => allowed));
  return all;
}

describe("alternatives while the store fails", () => {
  it("are charged to this process's shares in order, under local", async () => {
    const scene = context({ onError: "local" });
    await giveUp(scene);
    expect(await first(scene)).toMatchObject([
      { allowed: true, remaining: 2, source: "fallback", degraded: true },
      { allowed: true, remaining: 2, source: "fallback", degraded: true },
    ]);
    expect(await charged(scene, 5)).toEqual([0, 0, 1, 1, -1]);
  });

  it("start with what the store had left of each", async () => {
    const scene = context({ onError: "local" });
    expect(await charged(scene, 4)).toEqual([0, 0, 0, 1]);
    await giveUp(scene);
    expect(await charged(scene, 2)).toEqual([1, -1]);
  });

  it.each<[Policy, number]>([
    ["local", 1],
    ["allow", 1],
    ["deny", -1],
  ])("are not charged if the store has denied them: %s", async (onError, expected) => {
    const scene = context({ onError });
    // Of the share, two units would be left.
    await scene.ask("take", operation(plan, "k", 1));
    expect((await scene.ask("take", operation(plan, "k", 3))).allowed).toBe(false);
    await giveUp(scene);
    const answers = await first(scene, [plan, credits], 3);
    expect(answers.map(({ allowed }) => allowed)).toEqual([false, false]);
    const open = rule("open", fixedWindow("9/d"));
    const others = await first(scene, [plan, open], 3);
    expect(others.findIndex(({ allowed }) => allowed)).toBe(expected);
    if (onError !== "local") return;
    expect(others.map(({ remaining }) => remaining)).toEqual([2, 6]);
    // The denied one was not charged either.
    expect(await first(scene, [plan, open], 2)).toMatchObject([{ allowed: true, remaining: 0 }, { remaining: 6 }]);
  });

  it("remember what the store denied in a request with alternatives", async () => {
    const scene = context({ onError: "allow" });
    expect(await charged(scene, 4)).toEqual([0, 0, 0, 1]);
    await giveUp(scene);
    // Under allow nothing is counted, but the plan stays denied until the store said it would have room.
    expect(await charged(scene, 3)).toEqual([1, 1, 1]);
  });

  it("are not free if the store has denied one for longer than its share would", async () => {
    const clock = new ManualClock(TODAY_MS);
    // By the clock of the store, its window ends ten minutes after that of the share.
    const inner = new FaultyStore(new ManualClock(TODAY_MS + 3_000_000));
    inner.mood = "prompt";
    const scene = { store: resilient(inner, { onError: "local", clock }) };
    expect(await charged(scene, 4)).toEqual([0, 0, 0, 1]);
    inner.mood = "rejecting";
    await clock.advance(3_000_000);
    expect((await scene.store.apply("peek", [operation(plan, "other")]))[0].source).toBe("fallback");
    expect(await charged(scene, 3)).toEqual([1, -1, -1]);
  });

  it("are decided by the strictest of their policies", async () => {
    const lenient = { ...plan, onError: "allow" } as const;
    const strict = { ...credits, onError: "deny" } as const;
    const scene = context({ onError: "local" });
    await giveUp(scene);
    for (const rules of [
      [lenient, strict],
      [strict, lenient],
    ]) {
      expect((await first(scene, rules)).map(({ allowed }) => allowed)).toEqual([false, false]);
    }
    const { allow, deny } = scene.store.stats.fallbacks;
    expect({ allow, deny }).toEqual({ allow: 0, deny: 2 });
  });
});
