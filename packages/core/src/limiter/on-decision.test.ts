import { afterEach, describe, expect, it, vi } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { fixedWindow, leakyBucket, MemoryStore, rateLimiter } from "../index.ts";
import type { OnDecision } from "../limiter/on-decision.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const rules = { api: fixedWindow("2/m"), day: fixedWindow("1/d"), mail: leakyBucket("10/s", { burst: 2 }) };

/** The calls of onDecision, abbreviated. */
function listening() {
  const told: string[] = [];
  const onDecision: OnDecision = ({ rule, allowed, cost }, { key, admitted }) => {
    told.push(`${rule} ${key} ${cost} ${allowed ? "allowed" : "denied"}${admitted === allowed ? "" : ", not charged"}`);
  };
  return { told, onDecision };
}

const clock = new ManualClock(0);
const limiters = {
  "of its own memory": (onDecision: OnDecision) => rateLimiter(rules, { onDecision, clock }),
  "over a memory store": (onDecision: OnDecision) =>
    rateLimiter(rules, { onDecision, store: new MemoryStore({ clock }) }),
  "over another store": (onDecision: OnDecision) =>
    rateLimiter(rules, { onDecision, store: new SlowStore(clock, 0), clock }),
  "of a test": (onDecision: OnDecision) => testLimiter(rules, { onDecision }).limiter,
};

describe.each(Object.entries(limiters))("onDecision of a limiter %s", (_name, make) => {
  it("is called for each decision, with its key and whether the request was admitted", async () => {
    const { told, onDecision } = listening();
    const limiter = make(onDecision);
    await limiter.check("api", "ann");
    await limiter.check("api", "ann", { cost: 2 });
    await limiter.checkMany("api", ["bob", "cid"]);
    await limiter.checkMany([{ rule: "api", key: "bob", cost: 2 }]);
    await limiter.checkAll([
      { rule: "api", key: "dan" },
      { rule: "day", key: "dan" },
    ]);
    await limiter.checkAll([
      { rule: "api", key: "dan" },
      { rule: "day", key: "dan" },
    ]);
    expect(told).toEqual([
      "api ann 1 allowed",
      "api ann 2 denied",
      "api bob 1 allowed",
      "api cid 1 allowed",
      "api bob 2 denied",
      "api dan 1 allowed",
      "day dan 1 allowed",
      "api dan 1 allowed, not charged",
      "day dan 1 denied",
    ]);
  });

  it("is called for the alternative that decided", async () => {
    const { told, onDecision } = listening();
    const limiter = make(onDecision);
    const checks = [
      { rule: "day", key: "eve" },
      { rule: "api", key: "team" },
    ] as const;
    for (let i = 0; i < 4; i += 1) await limiter.firstOf(checks);
    expect(told).toEqual(["day eve 1 allowed", "api team 1 allowed", "api team 1 allowed", "api team 1 denied"]);
  });

  it("is not called for peeks and corrections", async () => {
    const { told, onDecision } = listening();
    const limiter = make(onDecision);
    for (const act of ["peek", "refund", "penalize", "reset"] as const) await limiter[act]("api", "ann");
    expect(told).toEqual([]);
  });

  it("is called once for a wait that is admitted at once", async () => {
    const { told, onDecision } = listening();
    const limiter = make(onDecision);
    await limiter.wait("api", "ann");
    await limiter.schedule("mail", "ann", () => 1);
    expect(told).toEqual(["api ann 1 allowed", "mail ann 1 allowed"]);
  });
});

describe("onDecision without a promise", () => {
  it("is called with the same decisions", () => {
    const { told, onDecision } = listening();
    const { limiter } = testLimiter(rules, { onDecision });
    limiter.checkSync("api", "ann");
    limiter.checkManySync("api", ["bob"]);
    limiter.checkAllSync([{ rule: "api", key: "ann" }]);
    limiter.firstOfSync([{ rule: "day", key: "ann" }]);
    limiter.peekSync("api", "ann");
    expect(told).toEqual(["api ann 1 allowed", "api bob 1 allowed", "api ann 1 allowed", "day ann 1 allowed"]);
  });
});

describe("an onDecision that fails", () => {
  afterEach(() => vi.restoreAllMocks());

  it.each<[string, () => void]>([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["rejects", (() => Promise.reject(new Error("broken"))) as () => void],
  ])("changes no decision if it %s, and is warned of once", async (_how, onDecision) => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const { limiter } = testLimiter(rules, { onDecision });
    expect([1, 2, 3].map(() => limiter.checkSync("api", "ann").allowed)).toEqual([true, true, false]);
    expect((await limiter.check("api", "bob")).allowed).toBe(true);
    await Promise.resolve();
    expect(emitWarning.mock.calls).toEqual([
      [
        expect.stringContaining("onDecision"),
        { type: "HeadgateWarning", code: "HG_ON_DECISION_FAILED", detail: "Error: broken" },
      ],
    ]);
  });

  it.each([null, 7, "log"])("is refused if it is %j", (onDecision) => {
    expect(() => rateLimiter(rules, { onDecision: onDecision as never })).toThrow(
      expect.objectContaining({ code: "HG_BAD_OPTION", field: "onDecision" }),
    );
  });
});

describe("a limiter without onDecision", () => {
  it("has the methods of its class, with nothing around them", () => {
    const plain = rateLimiter(rules);
    const { limiter: reporting } = testLimiter(rules, { onDecision() {} });
    expect(Object.getPrototypeOf(Object.getPrototypeOf(reporting))).toBe(Object.getPrototypeOf(plain));
    expect(Object.hasOwn(plain, "checkSync")).toBe(false);
  });
});
