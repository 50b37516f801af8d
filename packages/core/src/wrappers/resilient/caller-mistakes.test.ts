import { describe, expect, it } from "vitest";
import { context } from "../../../test/wrappers/resilient/context.ts";
import type { ErrorCode } from "../../errors.ts";
import { errorCodes, HeadgateError } from "../../index.ts";

const codes = Object.keys(errorCodes) as ErrorCode[];
const mistakes = codes.filter((code) => !code.startsWith("HG_STORE_"));

describe.each(["rejecting", "throwing"] as const)("a store that is %s with", (mood) => {
  it.each(mistakes)("%s is a caller's error and is passed on to the caller", async (code) => {
    const { inner, store, take } = context({ onError: "allow" });
    inner.mood = mood;
    const mistake = new HeadgateError(code, "field", "is wrong");
    // Another copy of the library has another class, but the same codes.
    const foreign = Object.assign(new Error("field: is wrong"), { code });
    for (const error of [mistake, foreign]) {
      inner.failure = error;
      await expect(take("k")).rejects.toBe(error);
    }
    expect(store.stats).toMatchObject({ calls: 2, failures: { other: 0 }, fallbacks: { allow: 0 } });
  });

  it.each([
    new Error("ECONNREFUSED"),
    Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
    Object.assign(new Error("odd"), { code: "toString" }),
    new TypeError("undefined is not a function"),
    "a string",
    undefined,
    null,
  ])("%o has failed, and what holds then is the answer", async (error) => {
    const { inner, store, take } = context({ onError: "allow" });
    inner.mood = mood;
    inner.failure = error;
    expect(await take("k")).toMatchObject({ allowed: true, source: "fallback", degraded: true });
    expect(store.stats).toMatchObject({ failures: { other: 1 } });
  });

  it.each(codes.filter((code) => code.startsWith("HG_STORE_")))("%s has failed", async (code) => {
    const { inner, store, take } = context({ onError: "allow" });
    inner.mood = mood;
    inner.failure = Object.assign(new Error("gone"), { code });
    expect(await take("k")).toMatchObject({ source: "fallback" });
    expect(store.stats).toMatchObject({ failures: { [code]: 1 } });
  });
});
