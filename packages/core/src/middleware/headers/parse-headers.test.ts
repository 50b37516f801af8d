import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRateLimitHeaders } from "./parse-headers.ts";

const NOW_MS = Date.UTC(2026, 10, 15, 12);

function read(headers: Record<string, string>) {
  return parseRateLimitHeaders(new Headers(headers), NOW_MS);
}

describe("the newest draft", () => {
  // Its own examples.
  it("is read with every policy and limit", () => {
    expect(
      read({
        "RateLimit-Policy": '"hour";q=1000;w=3600, "day";q=5000;w=86400',
        RateLimit: '"day";r=100;t=36000',
      }),
    ).toEqual({
      policies: [
        { name: "hour", quota: 1000, windowMs: 3_600_000, unit: "requests" },
        { name: "day", quota: 5000, windowMs: 86_400_000, unit: "requests" },
      ],
      limits: [{ name: "day", remaining: 100, resetAfterMs: 36_000_000 }],
      states: [],
    });
  });

  it("may have partition keys, units, and no time", () => {
    expect(
      read({
        "RateLimit-Policy": '"peruser";q=65535;qu="content-bytes";w=10;pk=:sdfjLJUOUH==:',
        RateLimit: '"default";r=999;pk=:dHJpYWwxMjEzMjM=:',
      }),
    ).toMatchObject({
      policies: [{ name: "peruser", quota: 65535, windowMs: 10_000, unit: "content-bytes", partition: "sdfjLJUOUH==" }],
      limits: [{ name: "default", remaining: 999, partition: "dHJpYWwxMjEzMjM=" }],
    });
  });

  it("is read as express-rate-limit writes it", () => {
    const headers = {
      "RateLimit-Policy": '"100-in-1min"; q=100; w=60; pk=:NzRjYTI0Mjk4ZTY4:',
      RateLimit: '"100-in-1min"; r=99; t=60',
    };
    expect(read(headers).limits).toEqual([{ name: "100-in-1min", remaining: 99, resetAfterMs: 60_000 }]);
  });

  it.each(['"default";t=5', '"default";r=-1;t=5', '"default";r="5"', '"open;r=5', '"a";r=1,', "7;r=1", ""])(
    "is ignored where it is malformed: %s",
    (rateLimit) => {
      expect(read({ RateLimit: rateLimit }).limits).toEqual([]);
    },
  );
});

describe("drafts 7 and 6", () => {
  it("are read by their one limit", () => {
    const expected = {
      policies: [{ quota: 100, windowMs: 60_000, unit: "requests" }],
      limits: [{ remaining: 99, resetAfterMs: 50_000 }],
      states: [],
    };
    expect(read({ RateLimit: "limit=100, remaining=99, reset=50", "RateLimit-Policy": "100;w=60" })).toEqual(expected);
    expect(
      read({
        "RateLimit-Limit": "100",
        "RateLimit-Remaining": "99",
        "RateLimit-Reset": "50",
        "RateLimit-Policy": '100;w=60;burst=1000;comment="sliding window"',
      }),
    ).toEqual(expected);
  });

  it("may reset at a Unix time, as GitLab has it", () => {
    const reset = NOW_MS / 1000 + 90;
    const limits = [{ remaining: 0, resetAfterMs: 90_000 }];
    expect(read({ "RateLimit-Remaining": "0", "RateLimit-Reset": String(reset) }).limits).toEqual(limits);
    expect(read({ RateLimit: `limit=10, remaining=0, reset=${reset}` }).limits).toEqual(limits);
    expect(read({ "RateLimit-Remaining": "0", "RateLimit-Reset": "999999999" }).limits).toEqual([
      { remaining: 0, resetAfterMs: 999_999_999_000 },
    ]);
  });

  it("have the limit for a policy where none is stated", () => {
    expect(read({ RateLimit: "limit=10, remaining=1, reset=7" }).policies).toEqual([{ quota: 10, unit: "requests" }]);
    expect(read({ "RateLimit-Limit": "10, 10;w=1", "RateLimit-Remaining": "1" })).toMatchObject({
      policies: [{ quota: 10 }],
      limits: [{ remaining: 1 }],
    });
  });
});

describe("the legacy headers", () => {
  const headers = { "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "56" };

  it.each([
    ["90", 90_000],
    [String(NOW_MS / 1000 + 90), 90_000],
    [String(NOW_MS + 90_000), 90_000],
    [String(NOW_MS / 1000 - 5), 0],
    [new Date(NOW_MS + 90_000).toISOString(), 90_000],
    ["1.5", 1_500],
  ])("may reset at %s", (reset, resetAfterMs) => {
    expect(read({ ...headers, "X-RateLimit-Reset": reset })).toEqual({
      policies: [{ quota: 60, unit: "requests" }],
      limits: [{ remaining: 56, resetAfterMs }],
      states: [],
    });
  });

  it.each([
    ["1.234", 1_234],
    ["0", 0],
    ["soon", 90_000],
  ])("may contain a duration besides the time, which then takes precedence: %j", (after, resetAfterMs) => {
    const reset = { "X-RateLimit-Reset": `${NOW_MS / 1000 + 90}.000`, "X-RateLimit-Reset-After": after };
    expect(read({ ...headers, ...reset }).limits).toEqual([{ remaining: 56, resetAfterMs }]);
  });

  it("may contain only the duration", () => {
    expect(read({ ...headers, "X-RateLimit-Reset-After": "4.5" }).limits).toEqual([
      { remaining: 56, resetAfterMs: 4_500 },
    ]);
  });

  it("may be spelled with another dash", () => {
    expect(
      read({ "X-Rate-Limit-Limit": "15", "X-Rate-Limit-Remaining": "14", "X-Rate-Limit-Reset": "3" }).limits,
    ).toEqual([{ remaining: 14, resetAfterMs: 3_000 }]);
  });

  it("are measured by the server's own date, where it has one", () => {
    const ahead = NOW_MS + 3_600_000;
    const told = read({
      ...headers,
      Date: new Date(ahead).toUTCString(),
      "X-RateLimit-Reset": String(ahead / 1000 + 30),
      "Retry-After": new Date(ahead + 5_000).toUTCString(),
    });
    expect(told.limits[0].resetAfterMs).toBe(30_000);
    expect(told.retryAfterMs).toBe(5_000);
  });

  it("come after the drafts", () => {
    const told = read({ ...headers, RateLimit: '"api";r=3;t=1' });
    expect(told.limits).toEqual([{ name: "api", remaining: 3, resetAfterMs: 1_000 }]);
  });

  it.each(["", "-1", "many", "1 2", "1e3", "0x10"])("are ignored where they are malformed: %j", (remaining) => {
    expect(read({ "X-RateLimit-Limit": "60", "X-RateLimit-Remaining": remaining }).limits).toEqual([]);
  });
});

describe("Retry-After", () => {
  it.each([
    ["120", 120_000],
    ["0", 0],
    ["2000000000", 2_000_000_000_000],
    ["99999999999999999999", 999_999_999_999_999_000],
    ["9".repeat(400), 999_999_999_999_999_000],
    ["00000000000000000005", 5_000],
    ["Sun, 15 Nov 2026 12:00:07 GMT", 7_000],
    ["Sun, 15 Nov 2020 12:00:00 GMT", 0],
    ["soon", undefined],
    ["-5", undefined],
    ["", undefined],
  ])("of %j is %s ms", (text, ms) => {
    expect(read({ "Retry-After": text }).retryAfterMs).toBe(ms);
  });
});

describe("the headers of a response", () => {
  it("are read from Node's object as well, in any case, and from several lines", () => {
    const told = parseRateLimitHeaders({ RATELIMIT: ['"a";r=1;t=2', '"b";r=3;t=4'], "retry-after": "5", x: undefined });
    expect(told.limits.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(told.retryAfterMs).toBe(5_000);
  });

  it("from a cache contain nothing about limits", () => {
    expect(read({ Age: "5", RateLimit: '"a";r=1;t=2' })).toEqual({ policies: [], limits: [], states: [] });
    expect(read({ Age: "0", RateLimit: '"a";r=1;t=2' }).limits).toHaveLength(1);
  });

  it("contain Headgate's own state", () => {
    expect(read({ "Headgate-State": 'warning;policy="a", throttled' }).states).toEqual([
      { state: "warning", policy: "a" },
      { state: "throttled" },
    ]);
  });

  it("yield nothing if there are none", () => {
    expect(read({})).toEqual({ policies: [], limits: [], states: [] });
  });

  it("may be any text: no number that comes of it is negative, or none at all", () => {
    const names = ["ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"];
    const all = [
      ...names,
      "x-ratelimit-limit",
      "x-ratelimit-remaining",
      "x-ratelimit-reset",
      "x-ratelimit-reset-after",
      "retry-after",
      "date",
      "age",
    ];
    const values = fc.oneof(
      fc.string(),
      fc.stringMatching(/^[0-9a-z";=, .?:%@-]{0,40}$/),
      fc.integer().map(String),
      fc.bigInt({ min: 0n, max: 10n ** 400n }).map(String),
      fc.constantFrom('"a";r=1;t=2', "limit=1, remaining=2, reset=3", "1e999", "Infinity", "NaN"),
    );
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...all), values), (headers) => {
        const { policies, limits, retryAfterMs = 0 } = parseRateLimitHeaders(headers, NOW_MS);
        const numbers = [
          retryAfterMs,
          ...policies.flatMap(({ quota, windowMs = 0 }) => [quota, windowMs]),
          ...limits.flatMap(({ remaining, resetAfterMs = 0 }) => [remaining, resetAfterMs]),
        ];
        for (const number of numbers) expect(Number.isFinite(number) && number >= 0).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});
