import { describe, expect, it } from "vitest";
import { SlowStore } from "../../test/limiter/slow-store.ts";
import { type TestRequest, testAdapter } from "../../test/middleware/request.ts";
import { ann, gateOf, passed, rules } from "../../test/middleware/test-middleware.ts";
import { fixedWindow, rateLimiter, StoreError, tokenBucket } from "../index.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";
import type { Passed } from "./admission.ts";
import { RateLimitMiddleware } from "./middleware.ts";
import type { MiddlewareOptions } from "./middleware-options.ts";
import type { Notice } from "./notices.ts";
import type { Ending, RefundOn } from "./refund-on.ts";

const key = "ip:1.2.3.4";
const ok: Ending = { status: 200, aborted: false };
const broken: Ending = { status: 500, aborted: false };
const gone: Ending = { status: undefined, aborted: true };

describe("a request that fails", () => {
  it.each<[RefundOn, Ending, boolean]>([
    ["5xx", broken, true],
    ["5xx", { status: 503, aborted: false }, true],
    ["5xx", { status: 499, aborted: false }, false],
    ["5xx", ok, false],
    ["4xx", { status: 404, aborted: false }, true],
    ["4xx", broken, false],
    ["aborted", gone, true],
    ["aborted", { status: 200, aborted: true }, false],
    [({ aborted }) => aborted, { status: 200, aborted: true }, true],
    ["aborted", ok, false],
    [404, { status: 404, aborted: false }, true],
    [[404, "5xx"], broken, true],
    [[404, "5xx"], { status: 400, aborted: false }, false],
    [({ status }) => status === 304, { status: 304, aborted: false }, true],
    [({ status }) => status === 304, ok, false],
    ["5xx", gone, false],
    ["2xx", { status: 200, aborted: false }, true],
    ["2xx", { status: 299, aborted: false }, true],
    ["2xx", { status: 302, aborted: false }, false],
    ["2xx", { status: 401, aborted: false }, false],
    ["2xx", { status: undefined, aborted: true }, false],
    [["2xx", "3xx"], { status: 302, aborted: false }, true],
    ["3xx", { status: 400, aborted: false }, false],
  ])("is given back by %j after %j: %s", async (refundOn, ending, given) => {
    const { gate, limiter } = gateOf({ rules: ["api", { rule: "day", cost: 3 }], refundOn });
    const admission = passed(await gate.admit(ann));
    await admission.ended(ending);
    expect(limiter.peekSync("api", key).remaining).toBe(given ? 2 : 1);
    expect(limiter.peekSync("day", key).remaining).toBe(given ? 10 : 7);
  });

  it("is not given back when its window is over: that would be taken from what others have used since", async () => {
    const { gate, limiter, clock } = gateOf({ rules: "api", refundOn: "5xx" });
    const admission = passed(await gate.admit(ann));
    await clock.advance(60_000);
    limiter.checkSync("api", key);
    await admission.ended(broken);
    expect(limiter.peekSync("api", key).remaining).toBe(1);
  });

  it("is not given back when its rule has got another algorithm, which knows nothing of it", async () => {
    const { gate, limiter } = gateOf({ rules: "api", refundOn: "5xx" });
    const admission = passed(await gate.admit(ann));
    limiter.setLimit("api", tokenBucket("5/m"));
    limiter.checkSync("api", key);
    await admission.ended(broken);
    expect(limiter.peekSync("api", key).remaining).toBe(4);
  });

  it("is given back under the limit that holds by then", async () => {
    const { gate, limiter } = gateOf({ rules: "api", refundOn: "5xx" });
    const admission = passed(await gate.admit(ann));
    limiter.setLimit("api", fixedWindow("5/m"));
    await admission.ended(broken);
    expect(limiter.peekSync("api", key).remaining).toBe(5);
  });

  it("is given back as long as it counts, which a burst may make longer than the window", async () => {
    const { gate, limiter, clock } = gateOf({ rules: { rule: "burst", cost: 5 }, refundOn: "5xx" });
    const admission = passed(await gate.admit(ann));
    await clock.advance(3_000);
    await admission.ended(broken);
    expect(limiter.peekSync("burst", key).remaining).toBe(5);
  });

  it("is given back once, however often it ends", async () => {
    const { gate, limiter } = gateOf({ rules: "day", refundOn: "5xx" });
    const admission = passed(await gate.admit(ann));
    await gate.admit(ann);
    await Promise.all([admission.ended(broken), admission.ended(broken)]);
    expect(limiter.peekSync("day", key).remaining).toBe(9);
  });
});

describe("the middleware", () => {
  it("needs to hear of the end only where something may be corrected", () => {
    expect(gateOf({ rules: "api" }).gate.watches).toBe(false);
    expect(gateOf({ rules: "api", refundOn: "5xx" }).gate.watches).toBe(true);
    expect(gateOf({ rules: { rule: "api", reserve: 2 } }).gate.watches).toBe(true);
  });
});

describe("a reserved cost", () => {
  const options: MiddlewareOptions<keyof typeof rules, TestRequest> = {
    rules: ["api", { rule: "day", reserve: ({ cost = 6 }) => cost }],
  };

  /** What is left of ten and of two. */
  async function leftAfter(use: (admission: ReturnType<typeof passed>) => Promise<void>): Promise<[number, number]> {
    const { gate, limiter } = gateOf(options);
    await use(passed(await gate.admit(ann)));
    return [limiter.peekSync("day", key).remaining, limiter.peekSync("api", key).remaining];
  }

  it("is taken at first", async () => {
    expect(await leftAfter(async () => {})).toEqual([4, 1]);
  });

  it("gives way to the real one, less or more; what was not reserved stays", async () => {
    expect(await leftAfter((admission) => admission.settle(2))).toEqual([8, 1]);
    expect(await leftAfter((admission) => admission.settle(9))).toEqual([1, 1]);
    expect(await leftAfter((admission) => admission.settle(6))).toEqual([4, 1]);
    expect(await leftAfter((admission) => admission.settle(0))).toEqual([10, 1]);
  });

  it("may be settled again as more is known, even at once", async () => {
    const use = async ({ settle }: ReturnType<typeof passed>) => {
      await Promise.all([settle(1), settle(3), settle(2)]);
    };
    expect(await leftAfter(use)).toEqual([8, 1]);
  });

  it.each([
    ["is kept if the request ends well and nobody told the real one", ok, 4],
    ["is released if the request fails first", broken, 10],
    ["is released if the client leaves first", gone, 10],
  ])("%s", async (_name, ending, left) => {
    expect(await leftAfter((admission) => admission.ended(ending))).toEqual([left, 1]);
  });

  it("that was settled stays so, however the request ends, and may come after the end", async () => {
    const settledFirst = async ({ settle, ended }: ReturnType<typeof passed>) => {
      await settle(2);
      await ended(gone);
    };
    const settledLast = async ({ settle, ended }: ReturnType<typeof passed>) => {
      await ended(gone);
      await settle(2);
    };
    expect(await leftAfter(settledFirst)).toEqual([8, 1]);
    expect(await leftAfter(settledLast)).toEqual([8, 1]);
  });

  it.each([-1, 1.5, Number.NaN])("cannot be settled as %d: that is a mistake", async (cost) => {
    const { gate, limiter } = gateOf(options);
    const admission = passed(await gate.admit(ann));
    await expect(admission.settle(cost)).rejects.toThrow(expect.objectContaining({ code: "HG_BAD_COST" }));
    await admission.settle(2);
    expect(limiter.peekSync("day", key).remaining).toBe(8);
  });
});

describe("a request without a reservation", () => {
  const refusal = expect.objectContaining({ code: "HG_NOT_RESERVED", field: "settle" });

  it.each<[string, MiddlewareOptions<keyof typeof rules, TestRequest>]>([
    ["of one rule", { rules: "day" }],
    ["of several", { rules: ["day", "api"] }],
    ["that is given back", { rules: "day", refundOn: "5xx" }],
    ["that is skipped", { rules: "day", skip: () => true }],
  ])("%s cannot be settled: the handler would believe that it had charged", async (_name, options) => {
    const { gate } = gateOf(options);
    const { settle } = passed(await gate.admit({ ...ann }));
    await expect(settle(5)).rejects.toThrow(refusal);
  });

  it("has nothing to settle if a gate that reserves skipped it, which is not an error", async () => {
    const { gate, limiter } = gateOf({ rules: { rule: "day", reserve: 5 }, skip: () => true });
    await passed(await gate.admit({ ...ann })).settle(3);
    expect(limiter.peekSync("day", key).remaining).toBe(10);
  });
});

describe("a request that comes through several gates", () => {
  type Asked = MiddlewareOptions<keyof typeof rules, TestRequest>;
  const reserving: Asked = { rules: { rule: "day", reserve: 6 } };

  /** Sends requests, each an object, through gates of one limiter; answers the admissions of each gate. */
  function gates(...asked: Asked[]) {
    const { limiter, clock } = testLimiter(rules);
    const each = asked.map(
      (options) => new RateLimitMiddleware(limiter, { proxies: 0, clock, ...options }, testAdapter),
    );
    const send = async (request: TestRequest) => {
      const admissions: Passed[] = [];
      for (const gate of each) admissions.push(passed(await gate.admit(request)));
      return admissions;
    };
    const left = () => [limiter.peekSync("day", key).remaining, limiter.peekSync("burst", key).remaining];
    return { send, left };
  }

  it.each<[string, Asked]>([
    ["counts", { rules: "burst" }],
    ["may refund", { rules: "burst", refundOn: "5xx" }],
    ["skips", { rules: "burst", cost: 0, skip: () => true }],
  ])("settles behind a gate that only %s what one before it reserved", async (_name, plain) => {
    const { send, left } = gates(reserving, plain);
    const [, last] = await send({ ...ann });
    await last.settle(2);
    expect(left()[0]).toBe(8);
  });

  it("settles what all of them reserved, as several rules of one gate; an admission reaches no gate after its own", async () => {
    const { send, left } = gates(reserving, { rules: { rule: "burst", reserve: 4 } });
    const [first, last] = await send({ ...ann });
    await last.settle(2);
    expect(left()).toEqual([8, 3]);
    await first.settle(9);
    expect(left()).toEqual([1, 3]);
  });

  it("settles what was reserved before a gate that skips, though it would reserve", async () => {
    const { send, left } = gates(reserving, { rules: { rule: "burst", reserve: 4 }, skip: () => true });
    const [, last] = await send({ ...ann });
    await last.settle(2);
    expect(left()).toEqual([8, 5]);
  });

  it("settles nothing of others: not of another request, nor of one that has ended and is the same object", async () => {
    const { send, left } = gates({ rules: { rule: "day", reserve: 1 } }, { rules: "burst" });
    const request = { ...ann };
    const [held, passing] = await send(request);
    await passing.settle(3);
    await held.ended(ok);
    for (const again of [request, { ...ann }]) {
      const [, last] = await send(again);
      await last.settle(2);
    }
    expect(left()[0]).toBe(3);
  });
});

describe("a correction that the store does not take", () => {
  it("does not fail the request, and is reported once", async () => {
    const clock = new ManualClock();
    const store = new SlowStore(clock);
    const notices: Notice[] = [];
    const gate = new RateLimitMiddleware(
      rateLimiter(rules, { store, clock }),
      { rules: { rule: "day", reserve: 5 }, refundOn: "5xx", proxies: 0, clock, onNotice: (n) => notices.push(n) },
      testAdapter,
    );
    const admission = passed(await gate.admit(ann));
    store.failure = new StoreError("HG_STORE_TIMEOUT", "took too long");
    await admission.settle(1);
    await admission.ended(broken);
    expect(notices.map(({ code }) => code)).toEqual(["HG_REFUND_LOST"]);
  });
});

describe("the end of a request", () => {
  it("never fails, even if the function that judges it does, because the response is already sent", async () => {
    const notices: Notice[] = [];
    const refundOn = () => {
      throw new TypeError("a bug");
    };
    const { gate } = gateOf({ rules: "api", refundOn, onNotice: (notice) => notices.push(notice) });
    await passed(await gate.admit(ann)).ended(ok);
    expect(notices).toMatchObject([{ code: "HG_REFUND_LOST", cause: { message: "a bug" } }]);
  });
});
