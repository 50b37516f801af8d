import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KEY, LeasedNode } from "../../../test/wrappers/leased/leased-node.ts";
import { fixedWindow } from "../../algorithms/registry.ts";
import { StoreError } from "../../errors.ts";
import type { Answer, ApplyOptions } from "../../stores/store.ts";

const plan = { name: "plan", limit: fixedWindow("20/m") };
const credits = { name: "credits", limit: fixedWindow("30/m") };

async function first(node: LeasedNode, cost = 1, options?: ApplyOptions): Promise<readonly Answer[]> {
  return node.store.apply(
    "takeFirst",
    [plan, credits].map((rule) => ({ rule, key: KEY, cost })),
    options,
  );
}

function chargedOf(answers: readonly Answer[]): number {
  return answers.findIndex(({ allowed }) => allowed);
}

describe("alternatives on a leased store", () => {
  it("are charged to the lease of one of them, and the store charges none", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(plan);
    const { pool, store } = node;
    const held = store.leaseOf("plan", KEY)?.held ?? 0;
    const left = pool.left(plan, KEY);
    expect(held).toBeGreaterThan(2);
    expect(await first(node, 2)).toMatchObject([
      { allowed: true, source: "lease" },
      { allowed: true, source: "store" },
    ]);
    expect(store.leaseOf("plan", KEY)).toMatchObject({ held: held - 2 });
    expect([pool.left(plan, KEY), pool.left(credits, KEY)]).toEqual([left, 30]);
  });

  it("are charged to an earlier one in the store, and what was set aside of a later one is put back", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(credits);
    const { held = 0 } = node.store.leaseOf("credits", KEY) ?? {};
    expect(chargedOf(await first(node))).toBe(0);
    expect(node.pool.left(plan, KEY)).toBe(19);
    expect(node.store.leaseOf("credits", KEY)).toMatchObject({ held });
  });

  it("put back what was set aside if the store fails", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(plan);
    const { held = 0 } = node.store.leaseOf("plan", KEY) ?? {};
    node.pool.fails = () => new StoreError("HG_STORE_UNREACHABLE", "gone");
    await expect(first(node)).rejects.toMatchObject({ code: "HG_STORE_UNREACHABLE" });
    expect(node.store.leaseOf("plan", KEY)).toMatchObject({ held });
  });

  it("are paid by the lease although the store is over the limit and has nothing else", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(plan);
    const { held = 0 } = node.store.leaseOf("plan", KEY) ?? {};
    node.pool.memory.apply(
      "penalize",
      [plan, credits].map((rule) => ({ rule, key: KEY, cost: 50 })),
    );
    expect(chargedOf(await first(node))).toBe(0);
    expect(node.store.leaseOf("plan", KEY)).toMatchObject({ held: held - 1 });
  });

  it("are not paid from a lease under another limit", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(plan);
    const { held = 0 } = node.store.leaseOf("plan", KEY) ?? {};
    const other = { rule: plan, key: KEY, cost: 1, limit: fixedWindow("40/m") };
    const answers = await node.store.apply("takeFirst", [other, { rule: credits, key: KEY, cost: 1 }]);
    expect(answers[0]).toMatchObject({ allowed: true, source: "store" });
    expect(node.store.leaseOf("plan", KEY)).toMatchObject({ held });
  });

  it("go to the store alone under an idempotency key, which remembers them", async () => {
    const node = new LeasedNode({ base: 10 });
    await node.take(plan);
    const { held = 0 } = node.store.leaseOf("plan", KEY) ?? {};
    const answers = await first(node, 2, { idempotencyKey: "once" });
    expect(await first(node, 2, { idempotencyKey: "once" })).toEqual(answers);
    expect(node.store.leaseOf("plan", KEY)).toMatchObject({ held });
    expect(chargedOf(answers)).toBe(0);
  });

  it("never exceed a limit or pass over units, however they are mixed with other requests", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.boolean(), { minLength: 60, maxLength: 90 }),
        fc.integer({ min: 1, max: 12 }),
        async (kinds, base) => {
          const node = new LeasedNode({ base });
          const spent = { plan: 0, credits: 0 };
          for (const isFirst of kinds) {
            if (!isFirst) {
              if ((await node.take(plan)).allowed) spent.plan += 1;
              continue;
            }
            const isHeld = (node.store.leaseOf("plan", KEY)?.held ?? 0) > 0;
            const charged = chargedOf(await first(node));
            if (charged === 0) spent.plan += 1;
            if (charged === 1) spent.credits += 1;
            // Nothing is charged to the credits while the plan has units, unless those are just being fetched.
            if (charged !== 0) expect([isHeld, node.pool.left(plan, KEY)]).toEqual([false, 0]);
          }
          // What is being fetched arrives.
          await node.pool.clock.advance(0);
          expect(spent.plan).toBeLessThanOrEqual(20);
          expect(spent.credits).toBeLessThanOrEqual(30);
          const { held = 0 } = node.store.leaseOf("plan", KEY) ?? {};
          expect(node.pool.left(plan, KEY) + held + spent.plan).toBe(20);
          expect(node.pool.left(credits, KEY) + spent.credits).toBe(30);
        },
      ),
      { numRuns: 50 },
    ));
});
