import { expect, it } from "vitest";
import { RedisNode } from "./redis-node.ts";

const SECOND = 1_000_000;

it("counts as silent if a reply has been outstanding for a second", () => {
  const node = new RedisNode("");
  node.asked(0);
  expect([node.isSilent(SECOND / 2), node.isSilent(SECOND)]).toEqual([false, true]);
});

it("does not count as silent while replies arrive or none is outstanding", () => {
  const node = new RedisNode("");
  node.asked(0);
  node.asked(0);
  node.ended(SECOND / 2);
  expect(node.isSilent(SECOND)).toBe(false);
  node.ended(SECOND / 2);
  expect(node.isSilent(10 * SECOND)).toBe(false);
  node.asked(10 * SECOND);
  expect([node.isSilent(10 * SECOND), node.isSilent(11 * SECOND)]).toEqual([false, true]);
});
