import fc from "fast-check";
import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { gcra } from "../../index.ts";
import { Policy } from "./policy.ts";
import { nextState, requireThresholds, stateHeader, UsageStates, type WarnOptions } from "./usage-state.ts";

const usual = requireThresholds();

describe("the state of a key", () => {
  it.each([
    [false, 0, "normal"],
    [false, 0.8, "normal"],
    [false, 0.81, "warning"],
    [false, 0.99, "warning"],
    [false, 1, "throttled"],
    [true, 0.8, "warning"],
    [true, 0.7, "warning"],
    [true, 0.69, "normal"],
    [true, 1, "throttled"],
  ] as const)("if it was warned is %s and %d is used: %s", (warned, used, state) => {
    expect(nextState(warned, used, usual)).toBe(state);
  });
});

describe("the states of a rule's keys", () => {
  it("warn over 80 % and until below 70 %, as usage rises and falls", () => {
    const states = new UsageStates(usual);
    const told = [20, 19, 25, 30, 31, 25, 19, 0, 5, 31, 25].map((remaining) => {
      return states.after("k", { remaining, resetAfterMs: 60_000 }, 100, () => 0);
    });
    expect(told).toEqual([
      "normal",
      "warning",
      "warning",
      "warning",
      "normal",
      "normal",
      "warning",
      "throttled",
      "warning",
      "normal",
      "normal",
    ]);
  });

  it("keep the keys apart", () => {
    const states = new UsageStates(usual);
    const after = (key: string, remaining: number) =>
      states.after(key, { remaining, resetAfterMs: 1_000 }, 10, () => 0);
    after("a", 1);
    expect(after("a", 3)).toBe("warning");
    expect(after("b", 3)).toBe("normal");
  });

  it("forget a warning once the quota was full again, whatever was used since", () => {
    const states = new UsageStates(usual);
    let now = 0;
    const after = (remaining: number) => states.after("k", { remaining, resetAfterMs: 1_000 }, 100, () => now);
    after(10);
    now = 999;
    expect(after(25)).toBe("warning");
    now = 2_000;
    expect(after(25)).toBe("normal");
  });

  it("count the whole units that are left: a part of one is no use", () => {
    const states = new UsageStates(usual);
    expect(states.after("k", { remaining: 0.99, resetAfterMs: 1 }, 5, () => 0)).toBe("throttled");
    expect(states.after("full", { remaining: 5.5, resetAfterMs: 0 }, 5.5, () => 0)).toBe("normal");
    expect(states.after("none", { remaining: 0.5, resetAfterMs: 0 }, 0.5, () => 0)).toBe("throttled");
  });

  it("keep no more keys than they may, and only those that are warned", () => {
    const states = new UsageStates(usual, 3);
    const operations = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d", "e"), fc.integer({ min: 0, max: 10 })));
    fc.assert(
      fc.property(operations, (sequence) => {
        for (const [key, remaining] of sequence) {
          const state = states.after(key, { remaining, resetAfterMs: 1_000 }, 10, () => 0);
          expect(states.size).toBeLessThanOrEqual(3);
          if (remaining < 2) expect(state).not.toBe("normal");
          if (remaining > 3) expect(state).toBe("normal");
        }
        for (const key of "abcde") states.after(key, { remaining: 10, resetAfterMs: 0 }, 10, () => 0);
        expect(states.size).toBe(0);
      }),
    );
  });
});

describe("the header of the state", () => {
  it("names the policies that are not normal", () => {
    const burst = new Policy("burst", gcra("1/s"));
    const day = new Policy('the "day"', gcra("1/d"));
    expect(stateHeader([{ policy: burst, state: "warning" }])).toEqual({
      name: "Headgate-State",
      value: 'warning;policy="burst"',
      list: true,
    });
    const both = stateHeader([
      { policy: burst, state: "warning" },
      { policy: day, state: "throttled" },
    ]);
    expect(both.value).toBe('warning;policy="burst", throttled;policy="the \\"day\\""');
  });
});

describe("the option warn", () => {
  it("takes thresholds of one's own", () => {
    expect(requireThresholds({ above: 0.5 })).toEqual({ above: 0.5, below: 0.5 });
    expect(requireThresholds({ above: 0.9, below: 0.2 })).toEqual({ above: 0.9, below: 0.2 });
  });

  it.each([
    [{ above: 80 }, "warn.above"],
    [{ below: -0.1 }, "warn.below"],
    [{ above: Number.NaN }, "warn.above"],
    [{ above: 0.5, below: 0.6 }, "warn.below"],
    [{ over: 0.5 }, "warn.over"],
  ])("refuses %j", (warn, field) => {
    expect(refusal(() => requireThresholds(warn as WarnOptions))).toMatchObject({ code: "HG_BAD_OPTION", field });
  });
});
