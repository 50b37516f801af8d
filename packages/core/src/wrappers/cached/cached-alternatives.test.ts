import { describe, expect, it } from "vitest";
import { operation, rule } from "../../../test/stores/conformance/context.ts";
import { DistantStore, unreachable } from "../../../test/wrappers/cached/distant-store.ts";
import { type CachedStore, cached, fixedWindow } from "../../index.ts";
import { ManualClock } from "../../testing/index.ts";
import type { CachedOptions } from "./cached-options.ts";

const plan = rule("plan", fixedWindow("5/h"));
const credits = rule("credits", fixedWindow("9/h"));
const either = [operation(plan, "k"), operation(credits, "k")];

function setUp(options: CachedOptions = {}) {
  const clock = new ManualClock(1_700_000_000_000);
  const store = new DistantStore(clock);
  return { clock, store, node: cached(store, { confirm: false, ...options, clock }) };
}

async function charged(node: CachedStore): Promise<number> {
  const answers = await node.apply("takeFirst", either);
  for (const { source, degraded } of answers) expect([source, degraded]).toEqual(["store", false]);
  return answers.findIndex(({ allowed }) => allowed);
}

describe.each([{ confirm: false }, { confirm: true }, { read: true }])(
  "alternatives on a cached store, %o",
  (options) => {
    it("are decided by the store, after the writes that are pending", async () => {
      const { store, node } = setUp(options);
      for (let i = 0; i < 5; i += 1) expect((await node.apply("take", [operation(plan, "k")]))[0].allowed).toBe(true);
      expect(await charged(node)).toBe(1);
      expect(store.memory.apply("peek", [operation(plan, "k", 0), operation(credits, "k", 0)])).toMatchObject([
        { remaining: 0 },
        { remaining: 8 },
      ]);
    });

    it("count here like any other request", async () => {
      const { node } = setUp(options);
      for (let i = 0; i < 3; i += 1) expect(await charged(node)).toBe(0);
      const taken = [];
      for (let i = 0; i < 4; i += 1) taken.push((await node.apply("take", [operation(plan, "k")]))[0].allowed);
      expect(taken).toEqual([true, true, false, false]);
      expect(await charged(node)).toBe(1);
      // Only the one that was charged counts.
      expect((await node.apply("take", [operation(credits, "k", 8)]))[0].allowed).toBe(true);
    });

    it("fail with the store, and charge nothing", async () => {
      const { store, node } = setUp(options);
      store.failures = { takeFirst: unreachable };
      await expect(node.apply("takeFirst", either)).rejects.toBe(unreachable);
      store.failures = {};
      expect(await charged(node)).toBe(0);
    });
  },
);
