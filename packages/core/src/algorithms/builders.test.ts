import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import * as library from "../index.ts";
import { rateAlgorithms } from "./lookup.ts";
import { bucketedWindow, concurrency, fixedWindow } from "./registry.ts";

const everyBuilder = rateAlgorithms.map(
  ({ build, traits }) => [build.name, build as (rate: unknown, options?: unknown) => unknown, traits] as const,
);
const metered = everyBuilder.filter(([, , traits]) => traits.burst);

it("are exported by the library", () => {
  expect(library).toMatchObject(Object.fromEntries(everyBuilder));
  expect(metered).not.toEqual([]);
});

describe.each(everyBuilder)("%s", (_name, build) => {
  it("takes a rate", () => {
    expect(build("100/m")).toMatchObject({ limit: 100, window: 60_000_000, burst: 100 });
  });

  it.each([
    { limit: 1.5, windowMs: 1 },
    { limit: "5", windowMs: 1 },
  ])("refuses the limit of %j", (rate) => {
    const { field, message } = refusal(() => build(rate));
    expect(field).toBe("limit");
    expect(message).toMatch(/^limit: must be a whole number from 1 to 2\^53 - 1, got /);
  });

  it.each(["0/m", "9007199254740992/m", "100/0s", "1/5000w"])("refuses %j, and shows the right form", (rate) => {
    expect(refusal(() => build(rate))).toMatchObject({
      code: "HG_BAD_RATE",
      field: "rate",
      message: expect.stringContaining('must be like "100/m"'),
    });
  });

  it("refuses a burst among the numbers of a rate, where it would be ignored", () => {
    const rate = { limit: 100, windowMs: 1000, burst: 5 };
    expect(refusal(() => build(rate))).toMatchObject({ code: "HG_BAD_RATE", field: "rate.burst" });
  });

  it.each([20, null, [], "x"])("refuses %j in the place of options", (options) => {
    expect(refusal(() => build("100/m", options as never))).toMatchObject({ code: "HG_BAD_LIMIT", field: "options" });
  });

  it("refuses an option that it does not know, by name", () => {
    const { field, message } = refusal(() => build("100/m", { bursts: 5 }));
    expect(field).toBe("bursts");
    expect(message).toMatch(/^bursts: is unknown/);
  });
});

describe.each(metered)("%s", (_name, build) => {
  it("takes a burst", () => {
    expect(build("100/m", { burst: 20 })).toMatchObject({ limit: 100, burst: 20 });
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "5", null])("refuses the burst %s", (burst) => {
    expect(refusal(() => build("100/m", { burst }))).toMatchObject({ code: "HG_BAD_LIMIT", field: "burst" });
  });

  it("refuses a burst that would take a lifetime to be full again", () => {
    expect(refusal(() => build("1/d", { burst: 30_000 })).message).toMatch(/^burst: is too large/);
  });
});

describe("fixedWindow", () => {
  it("aligns its windows to the clock by default", () => {
    expect(fixedWindow("1/s").anchor).toBe("clock");
    expect(fixedWindow("1/s", { anchor: "request" }).anchor).toBe("request");
  });

  it.each(["Clock", "", null, 1])("refuses the anchor %s", (anchor) => {
    const { field, message } = refusal(() => fixedWindow("1/s", { anchor } as never));
    expect(field).toBe("anchor");
    expect(message).toContain('must be "clock" or "request"');
  });
});

describe("bucketedWindow", () => {
  it("has buckets of 100 ms, or a tenth of a shorter window, or single microseconds when exact", () => {
    expect(bucketedWindow("1/m").bucketWidth).toBe(100_000);
    expect(bucketedWindow("1/s").bucketWidth).toBe(100_000);
    expect(bucketedWindow("1/10ms").bucketWidth).toBe(1_000);
    expect(bucketedWindow("1/s", { bucketWidthMs: 10 }).bucketWidth).toBe(10_000);
    expect(bucketedWindow("1/s", { exact: true }).bucketWidth).toBe(1);
    expect(bucketedWindow("1/s", { exact: true, bucketWidthMs: 10 }).bucketWidth).toBe(1);
  });

  it.each([0, -1, Number.NaN, "10", null])("refuses the width %s", (bucketWidthMs) => {
    expect(refusal(() => bucketedWindow("1/s", { bucketWidthMs } as never)).field).toBe("bucketWidthMs");
  });

  it("refuses buckets that are longer than the window, and an exact that is not a boolean", () => {
    expect(refusal(() => bucketedWindow("1/s", { bucketWidthMs: 1_001 })).field).toBe("bucketWidthMs");
    expect(refusal(() => bucketedWindow("1/s", { exact: "yes" } as never)).field).toBe("exact");
  });
});

describe("concurrency", () => {
  it("takes the number of slots, and has no window", () => {
    expect(library.concurrency).toBe(concurrency);
    expect(concurrency(20)).toMatchObject({ algorithm: "concurrency", limit: 20, burst: 20, window: 0 });
  });

  it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, "5", "5/s", null, undefined])(
    "refuses the limit %s",
    (limit) => {
      expect(refusal(() => concurrency(limit as never))).toMatchObject({ code: "HG_BAD_LIMIT", field: "limit" });
    },
  );
});
