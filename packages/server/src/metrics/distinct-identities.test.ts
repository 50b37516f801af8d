import { expect, it } from "vitest";
import { DistinctIdentities } from "./distinct-identities.ts";

const MINUTE = 60_000;

function setUp() {
  let now = 10 * MINUTE;
  const identities = new DistinctIdentities(() => now);
  return { identities, later: (ms: number) => (now += ms) };
}

it.each([0, 1, 10, 1_000, 100_000])("counts %i identities of a minute, however often they are checked", (count) => {
  const { identities, later } = setUp();
  for (let round = 0; round < 2; round += 1) {
    for (let i = 0; i < count; i += 1) identities.add("user", `user-${i}`, i % 4 === 0);
  }
  expect(identities.lastMinute()).toEqual({ any: 0, above: 0 });
  later(MINUTE);
  const { any, above } = identities.lastMinute();
  expect(Math.abs(any - count)).toBeLessThanOrEqual(0.1 * count);
  expect(Math.abs(above - count / 4)).toBeLessThanOrEqual(0.1 * count + 1);
});

it("forgets a minute after the next", () => {
  const { identities, later } = setUp();
  identities.add("user", "a", false);
  later(MINUTE);
  identities.add("user", "b", true);
  identities.add("ip", "b", true);
  expect(identities.lastMinute()).toEqual({ any: 1, above: 0 });
  later(MINUTE);
  expect(identities.lastMinute()).toEqual({ any: 2, above: 2 });
  later(5 * MINUTE);
  expect(identities.lastMinute()).toEqual({ any: 0, above: 0 });
});
