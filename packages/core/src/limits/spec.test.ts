import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { rateAlgorithms } from "../algorithms/lookup.ts";
import { concurrency } from "../algorithms/registry.ts";
import { limitFromSpec } from "./spec.ts";

const NOT_POSITIVE = [
  0,
  -1,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  "60",
  null,
  undefined,
  {},
  true,
];

describe.each(rateAlgorithms)("a $name in a file", ({ name: algorithm }) => {
  const spec = { algorithm, limit: 10, window: 60 };

  it("is read in seconds", () => {
    expect(limitFromSpec(spec)).toMatchObject({ algorithm, limit: 10, window: 60_000_000, burst: 10 });
    expect(limitFromSpec({ ...spec, window: 0.000001 }).window).toBe(1);
  });

  it.each([...NOT_POSITIVE, 1.5, 2 ** 53])("is refused with the limit %s", (limit) => {
    expect(refusal(() => limitFromSpec({ ...spec, limit }))).toMatchObject({ code: "HG_BAD_LIMIT", field: "limit" });
  });

  it.each([...NOT_POSITIVE, 1e-9, 1e12])("is refused with the window %s", (window) => {
    expect(refusal(() => limitFromSpec({ ...spec, window }))).toMatchObject({ code: "HG_BAD_LIMIT", field: "window" });
  });

  it("is refused with a field that it does not have", () => {
    const { field, message } = refusal(() => limitFromSpec({ ...spec, windw: 60 }));
    expect(field).toBe("windw");
    expect(message).toMatch(new RegExp(`^windw: is not a field of ${algorithm} \\(known: limit, window`));
  });

  it("names the whole path of a field", () => {
    expect(refusal(() => limitFromSpec({ ...spec, limit: 0 }, "config.users.bob")).field).toBe(
      "config.users.bob.limit",
    );
    expect(refusal(() => limitFromSpec({ ...spec, x: 0 }, "config.default")).field).toBe("config.default.x");
  });
});

describe("a limit in a file", () => {
  it.each(["token-bucket", "TOKEN_BUCKET", "", "__proto__", "constructor", 1, null, {}])(
    "is refused with the algorithm %j",
    (algorithm) => {
      const { field, message } = refusal(() => limitFromSpec({ algorithm, limit: 1, window: 1 }));
      expect(field).toBe("algorithm");
      expect(message).toMatch(/^algorithm: must be one of token_bucket, leaky_bucket, /);
    },
  );

  it.each([null, undefined, 5, "gcra", [], true])("is refused as %j", (spec) => {
    expect(refusal(() => limitFromSpec(spec)).message).toMatch(/^limit: must be an object, got /);
    expect(refusal(() => limitFromSpec(spec, "config.default")).field).toBe("config.default");
  });

  it("takes a burst where one is kept, and only there", () => {
    expect(limitFromSpec({ algorithm: "gcra", limit: 10, window: 1, burst: 5 }).burst).toBe(5);
    expect(refusal(() => limitFromSpec({ algorithm: "gcra", limit: 10, window: 1, burst: 0 })).field).toBe("burst");
    expect(refusal(() => limitFromSpec({ algorithm: "fixed_window", limit: 10, window: 1, burst: 5 })).field).toBe(
      "burst",
    );
  });

  it("takes an anchor of a fixed window", () => {
    const spec = { algorithm: "fixed_window", limit: 10, window: 1 };
    expect(limitFromSpec(spec).anchor).toBe("clock");
    expect(limitFromSpec({ ...spec, anchor: "request" }).anchor).toBe("request");
    expect(refusal(() => limitFromSpec({ ...spec, anchor: "first" })).field).toBe("anchor");
  });

  it("takes the buckets of a bucketed window", () => {
    const spec = { algorithm: "bucketed_window", limit: 5 };
    expect(limitFromSpec(spec)).toMatchObject({ window: 1_000_000, bucketWidth: 100_000 });
    expect(limitFromSpec({ ...spec, bucket_width: 0.01 }).bucketWidth).toBe(10_000);
    expect(limitFromSpec({ ...spec, bucket_width: 0.1, exact: true }).bucketWidth).toBe(1);
    expect(refusal(() => limitFromSpec({ ...spec, bucket_width: 0 })).field).toBe("bucket_width");
    expect(refusal(() => limitFromSpec({ ...spec, bucket_width: 2 })).field).toBe("bucket_width");
    expect(refusal(() => limitFromSpec({ ...spec, exact: 1 })).field).toBe("exact");
  });
});

describe("a token bucket by its capacity", () => {
  it("needs no algorithm", () => {
    expect(limitFromSpec({ capacity: 5, refill_rate: 1 })).toMatchObject({ algorithm: "token_bucket", burst: 5 });
  });

  it.each([...NOT_POSITIVE, 2 ** 53])("is refused with the capacity %s", (capacity) => {
    expect(refusal(() => limitFromSpec({ capacity, refill_rate: 1 }))).toMatchObject({
      code: "HG_BAD_LIMIT",
      field: "capacity",
    });
  });

  it.each(NOT_POSITIVE)("is refused with the refill rate %s", (refill_rate) => {
    expect(refusal(() => limitFromSpec({ capacity: 5, refill_rate })).field).toBe("refill_rate");
  });

  it("is refused if it would never be full again", () => {
    expect(refusal(() => limitFromSpec({ capacity: 5, refill_rate: 1e-12 })).message).toMatch(
      /^refill_rate: is too slow/,
    );
  });

  it("is not mixed with the other way to state it", () => {
    const other = { limit: 5, window: 1 };
    expect(refusal(() => limitFromSpec({ ...other, capacity: 5 })).field).toBe("capacity");
    expect(refusal(() => limitFromSpec({ ...other, refill_rate: 5 })).field).toBe("refill_rate");
    expect(refusal(() => limitFromSpec({ capacity: 5, refill_rate: 1, burst: 5 })).field).toBe("burst");
    expect(refusal(() => limitFromSpec({ capacity: 5, window: 1 })).field).toBe("capacity");
    expect(refusal(() => limitFromSpec({ algorithm: "gcra", capacity: 5, refill_rate: 1 })).field).toBe("capacity");
  });
});

describe("a concurrency limit in a file", () => {
  it("has a limit and no window", () => {
    expect(limitFromSpec({ algorithm: "concurrency", limit: 3 })).toEqual(concurrency(3));
    const { field, message } = refusal(() => limitFromSpec({ algorithm: "concurrency", limit: 3, window: 60 }, "a"));
    expect(field).toBe("a.window");
    expect(message).toBe("a.window: is not a field of concurrency (known: limit)");
  });
});
