import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { MemoryStore, resilient } from "../../index.ts";

describe("the options of resilient", () => {
  it.each([
    [{ deadline: 50 }, "options.deadline"],
    [{ deadlineMs: 0 }, "deadlineMs"],
    [{ deadlineMs: -1 }, "deadlineMs"],
    [{ deadlineMs: Number.NaN }, "deadlineMs"],
    [{ deadlineMs: Number.POSITIVE_INFINITY }, "deadlineMs"],
    [{ deadlineMs: "50" }, "deadlineMs"],
    [{ nodes: 0 }, "nodes"],
    [{ nodes: 1.5 }, "nodes"],
    [{ nodes: "2" }, "nodes"],
    [{ maxKeys: 0 }, "maxKeys"],
    [{ maxKeys: 1.5 }, "maxKeys"],
    [{ breaker: { fails: 1 } }, "breaker.fails"],
    [{ breaker: { failures: 0 } }, "breaker.failures"],
    [{ breaker: { failures: 2.5 } }, "breaker.failures"],
    [{ breaker: { retryMs: 0 } }, "breaker.retryMs"],
    [{ breaker: { retryMs: null } }, "breaker.retryMs"],
    [{ breaker: 5 }, "options"],
    [{ onError: "open" }, "onError"],
    [{ onError: { default: "open" } }, "onError.default"],
    [{ onError: { rules: { api: "close" } } }, "onError.rules.api"],
    [{ onError: { rules: ["deny"] } }, "onError.rules"],
    [{ onError: { api: "deny" } }, "onError.api"],
    [{ onDegraded: "log" }, "onDegraded"],
    [{ onFailure: "log" }, "onFailure"],
    [{ clock: {} }, "clock"],
    ["deny", "options"],
  ])("are refused if they are %o", (options, field) => {
    // @ts-expect-error: most of these are wrong by type too
    expect(refusal(() => resilient(new MemoryStore(), options))).toMatchObject({ code: "HG_BAD_OPTION", field });
  });

  it.each([undefined, null, {}, "redis"])("need a store, not %o", (store) => {
    // @ts-expect-error: these are no stores
    expect(refusal(() => resilient(store))).toMatchObject({ code: "HG_BAD_OPTION", field: "store" });
  });
});
