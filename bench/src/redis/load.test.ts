import { expect, test } from "vitest";
import type { AsyncChecker } from "../subjects/subject.ts";
import { load } from "./load.ts";

const callers = { inFlight: 8, nextKey: () => "a", checksPerTurn: 4, took: () => {} };

test("the configured number of checks is in flight, never more", async () => {
  let inFlight = 0;
  let most = 0;
  const checker: AsyncChecker = {
    kind: "async",
    async check() {
      inFlight += 1;
      most = Math.max(most, inFlight);
      await new Promise((resolve) => setImmediate(resolve));
      inFlight -= 1;
      return {};
    },
    allowed: () => true,
  };
  let taken = 0;
  const { checks, allowed } = await load(checker, { ...callers, took: () => (taken += 1) }, 20);
  expect(most).toBe(8);
  expect(checks).toBeGreaterThan(8);
  expect([allowed, taken]).toEqual([checks, checks]);
});

test("what rejects with no Error is a denial, and callers that never wait still end", async () => {
  const { checks, allowed } = await load(
    { kind: "async", check: () => Promise.reject({ left: 0 }), allowed: () => true },
    callers,
    5,
  );
  expect(checks).toBeGreaterThan(0);
  expect(allowed).toBe(0);
});

test("an Error does not count as a decision", async () => {
  const broken: AsyncChecker = { kind: "async", check: () => Promise.reject(new Error("gone")), allowed: () => true };
  await expect(load(broken, callers, 5)).rejects.toThrow("gone");
});

test("the load continues until the required number of checks was made", async () => {
  const checker: AsyncChecker = { kind: "async", check: () => Promise.resolve({}), allowed: () => true };
  const { checks } = await load(checker, callers, 0, 1_000);
  expect(checks).toBeGreaterThanOrEqual(1_000);
});
