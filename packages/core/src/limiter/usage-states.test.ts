import fc from "fast-check";
import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { someDecision } from "../../test/middleware/some-decision.ts";
import { gcra, tokenBucket } from "../index.ts";
import { Policy } from "../middleware/headers/policy.ts";
import { HeaderWriter } from "../middleware/headers/response-headers.ts";
import { UsageStates, type WarnOptions } from "./usage-states.ts";

/** A decision under a limit that holds `burst` units, as the store makes it at `timeMs`. */
function left(remaining: number, burst = 100, resetAfterMs = 60_000, timeMs = 0) {
  return someDecision({ remaining, resetAfterMs, timeMs, limit: tokenBucket("1/s", { burst }) });
}

/** The state of a key after a decision. */
function after(states: UsageStates, key: string, decision = left(0)) {
  states.enter(key, decision);
  return decision.state;
}

describe("the states of a rule's keys", () => {
  it("warn over 80 % and until below 70 %, as usage rises and falls", () => {
    const states = new UsageStates();
    const told = [20, 19, 1, 25, 30, 31, 25, 19, 0, 5, 31, 25].map((remaining) => after(states, "k", left(remaining)));
    expect(told).toEqual([
      "normal",
      "warning",
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

  it("are throttled by a denial, unless the request can never be allowed", () => {
    const limit = tokenBucket("1/s", { burst: 100 });
    const denied = (retryAfterMs: number) =>
      someDecision({ allowed: false, remaining: 50, retryAfterMs, resetAfterMs: 1_000, limit });
    const states = new UsageStates();
    expect(after(states, "k", denied(500))).toBe("throttled");
    expect(after(states, "other", denied(Number.POSITIVE_INFINITY))).toBe("normal");
  });

  it("keep the keys apart", () => {
    const states = new UsageStates();
    after(states, "a", left(1, 10));
    expect(after(states, "a", left(3, 10))).toBe("warning");
    expect(after(states, "b", left(3, 10))).toBe("normal");
  });

  it("include the previous state of a key", () => {
    const states = new UsageStates();
    expect([left(10), left(0), left(25), left(90)].map((decision) => states.enter("k", decision))).toEqual([
      "normal",
      "warning",
      "throttled",
      "warning",
    ]);
  });

  it("are not kept for a decision that charged nothing", () => {
    const states = new UsageStates();
    const peeked = left(0);
    states.peek("k", peeked);
    expect(peeked.state).toBe("throttled");
    expect(states.size).toBe(0);
  });

  it("are those of keys that are not normal, until they are forgotten", () => {
    const states = new UsageStates();
    after(states, "a", left(0));
    after(states, "b", left(50));
    expect(states.size).toBe(1);
    states.forget("a");
    expect(states.size).toBe(0);
  });

  it("forget a warning once the quota was full again, whatever was used since", () => {
    const states = new UsageStates();
    const at = (timeMs: number, remaining: number) => after(states, "k", left(remaining, 100, 1_000, timeMs));
    at(0, 10);
    expect(at(999, 25)).toBe("warning");
    expect(at(2_000, 25)).toBe("normal");
  });

  it("count the whole units that are left: a part of one is no use", () => {
    const states = new UsageStates();
    expect(after(states, "k", left(0.99, 5))).toBe("throttled");
    const full = someDecision({ remaining: 5.5, resetAfterMs: 0, limit: { ...tokenBucket("1/s"), burst: 5.5 } });
    expect(after(states, "full", full)).toBe("normal");
    const none = someDecision({ remaining: 0.5, resetAfterMs: 0, limit: { ...tokenBucket("1/s"), burst: 0.5 } });
    expect(after(states, "none", none)).toBe("throttled");
  });

  it("are no more than the bound: the key that was warned first is forgotten first", () => {
    const states = new UsageStates({}, 2);
    for (const key of ["a", "b", "c"]) states.enter(key, left(0));
    expect(states.size).toBe(2);
    expect(states.enter("c", left(0))).toBe("throttled");
    expect(states.enter("a", left(0))).toBe("normal");
  });

  it("keep no more keys than they may, and only those that are warned", () => {
    const states = new UsageStates({}, 3);
    const operations = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d", "e"), fc.integer({ min: 0, max: 10 })));
    fc.assert(
      fc.property(operations, (sequence) => {
        for (const [key, remaining] of sequence) {
          const state = after(states, key, left(remaining, 10));
          expect(states.size).toBeLessThanOrEqual(3);
          if (remaining < 2) expect(state).not.toBe("normal");
          if (remaining > 3) expect(state).toBe("normal");
        }
        for (const key of "abcde") after(states, key, left(10, 10));
        expect(states.size).toBe(0);
      }),
    );
  });
});

describe("the header of the state", () => {
  const policies = [new Policy("burst", gcra("1/s")), new Policy('the "day"', gcra("1/d"))];
  const inState = (remaining: number) => {
    const decision = left(remaining);
    new UsageStates().enter("k", decision);
    return decision;
  };

  it("names the policies that are not normal", () => {
    const writer = new HeaderWriter([], policies);
    const [warning, throttled, normal] = [10, 0, 90].map(inState);
    expect(writer.write(warning)).toEqual([{ name: "Headgate-State", value: 'warning;policy="burst"', list: true }]);
    expect(writer.write(throttled, [warning, throttled])).toEqual([
      { name: "Headgate-State", value: 'warning;policy="burst", throttled;policy="the \\"day\\""', list: true },
    ]);
    expect(writer.write(throttled, [normal, throttled])).toEqual([
      { name: "Headgate-State", value: 'throttled;policy="the \\"day\\""', list: true },
    ]);
    expect(writer.write(normal, [normal, normal])).toEqual([]);
  });
});

describe("the option warn", () => {
  it.each([
    [{ above: 0.5 }, ["normal", "warning", "normal"]],
    [{ above: 0.9, below: 0.2 }, ["normal", "normal", "normal"]],
    [{ above: 0.5, below: 0.2 }, ["normal", "warning", "warning"]],
  ])("takes thresholds of one's own: %j", (warn, expected) => {
    const states = new UsageStates(warn);
    expect([50, 40, 60].map((remaining) => after(states, "k", left(remaining)))).toEqual(expected);
  });

  it.each([
    [{ above: 80 }, "warn.above"],
    [{ below: -0.1 }, "warn.below"],
    [{ above: Number.NaN }, "warn.above"],
    [{ above: 0.5, below: 0.6 }, "warn.below"],
    [{ over: 0.5 }, "warn.over"],
  ])("refuses %j", (warn, field) => {
    expect(refusal(() => new UsageStates(warn as WarnOptions))).toMatchObject({ code: "HG_BAD_OPTION", field });
  });
});
