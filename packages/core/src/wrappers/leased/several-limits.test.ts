import { describe, expect, it } from "vitest";
import { KEY, LeasedNode } from "../../../test/wrappers/leased/leased-node.ts";
import { fixedWindow, slidingWindow } from "../../algorithms/registry.ts";
import type { Answer } from "../../stores/store.ts";

const minute = { name: "minute", limit: fixedWindow("100/m") };
const hour = { name: "hour", limit: fixedWindow("150/h") };
const other = { name: "other", limit: slidingWindow("3/m") };

function both(node: LeasedNode, cost = 1): Promise<readonly Answer[]> | readonly Answer[] {
  return node.store.apply("take", [
    { rule: minute, key: KEY, cost },
    { rule: hour, key: KEY, cost },
  ]);
}

describe("a leased store and requests with several limits", () => {
  it("pays all of them from what it holds", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.store.apply("take", [{ rule: minute, key: KEY, cost: 1 }]);
    await node.store.apply("take", [{ rule: hour, key: KEY, cost: 1 }]);
    expect(await both(node)).toMatchObject([
      { allowed: true, source: "lease" },
      { allowed: true, source: "lease" },
    ]);
    expect(node.pool.calls).toEqual(["take 11", "take 11"]);
  });

  it("asks the store about those that it cannot pay, and takes back what it set aside if that refuses", async () => {
    const node = new LeasedNode({ base: 10, rules: ["minute"] });
    await node.store.apply("take", [{ rule: minute, key: KEY, cost: 1 }]);
    const take = (): readonly Answer[] | Promise<readonly Answer[]> =>
      node.store.apply("take", [
        { rule: minute, key: KEY, cost: 1 },
        { rule: other, key: KEY, cost: 1 },
      ]);
    for (let i = 0; i < 3; i += 1) expect((await take()).every(({ allowed }) => allowed)).toBe(true);
    expect(node.store.leaseOf("minute", KEY)).toMatchObject({ held: 7 });
    expect(await take()).toMatchObject([{ allowed: true }, { allowed: false, source: "store" }]);
    expect(node.store.leaseOf("minute", KEY)).toMatchObject({ held: 7 });
  });

  it("admits no more than each of them allows", async () => {
    const node = new LeasedNode({ base: 10 });
    let passed = 0;
    for (let i = 0; i < 200; i += 1) if ((await both(node)).every(({ allowed }) => allowed)) passed += 1;
    expect(passed).toBeLessThanOrEqual(100);
    expect(passed).toBeGreaterThanOrEqual(90);
  });
});
