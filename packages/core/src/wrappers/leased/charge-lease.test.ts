import { describe, expect, it } from "vitest";
import { KEY, LeasedNode } from "../../../test/wrappers/leased/leased-node.ts";
import { fixedWindow } from "../../algorithms/registry.ts";
import type { Answer } from "../../stores/store.ts";

const minute = { name: "minute", limit: fixedWindow("20/m") };

async function charge(node: LeasedNode, cost = 1): Promise<Answer> {
  const [answer] = await node.store.apply("charge", [{ rule: minute, key: KEY, cost }]);
  return answer;
}

describe("charge on a leased store", () => {
  it("is paid by the lease as long as that has enough", async () => {
    const node = new LeasedNode({ base: 10 });
    expect(await charge(node)).toMatchObject({ allowed: true });
    expect(await charge(node)).toMatchObject({ allowed: true, source: "lease" });
    expect(node.pool.calls).toEqual(["take 11"]);
  });

  it("charges a denied request to the lease, and to the pool what the lease does not hold", async () => {
    const node = new LeasedNode({ base: 10 });
    await charge(node);
    const { held, pool } = node.store.leaseOf("minute", KEY) ?? { held: 0, pool: 0 };
    expect(held + pool).toBe(19);
    expect(await charge(node, 20)).toMatchObject({ allowed: false, remaining: 0 });
    expect(node.store.leaseOf("minute", KEY)).toMatchObject({ held: 0 });
    // 21 of 20 are used: returning one makes no room yet, returning two does.
    expect(await charge(node, 1)).toMatchObject({ allowed: false });
    const [refunded] = await node.store.apply("refund", [{ rule: minute, key: KEY, cost: 3 }]);
    expect(refunded.remaining).toBe(1);
  });

  it("charges what the limit could never admit", async () => {
    const node = new LeasedNode({ base: 10 });
    expect(await charge(node, 30)).toMatchObject({ allowed: false, retryAfter: Number.POSITIVE_INFINITY });
    expect(await charge(node)).toMatchObject({ allowed: false });
  });
});
