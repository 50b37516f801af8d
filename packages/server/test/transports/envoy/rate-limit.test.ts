import { describe, expect, it } from "vitest";
import { described, KEY, type RateLimitResponse, servedEnvoy, shouldRateLimit } from "./fixtures.ts";

// Requests and answers as in the tests of envoyproxy/ratelimit, restated.

const BASIC = `
domain: basic
descriptors:
  - { key: key1, rate_limit: { unit: second, requests_per_unit: 50 } }
  - { key: one_per_minute, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: blocked, rate_limit: { unit: minute, requests_per_unit: 0 } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: trial, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: files, value: "files/*", share_threshold: true, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: wild, value: "foo*", rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: outer, value: a, descriptors: [{ key: inner, rate_limit: { unit: day, requests_per_unit: 2, name: inner_limit } }] }
  - { key: base, rate_limit: { unit: minute, requests_per_unit: 1, name: base_limit } }
  - { key: special, rate_limit: { unit: minute, requests_per_unit: 5, replaces: [{ name: base_limit }] } }
  - { key: q1, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: q2, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 2 } }
  - { key: q3, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: gcra, burst: 1 } }
  - { key: bucket, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: token_bucket, burst: 3 } }
`;
const ANOTHER = `
domain: another
descriptors:
  - { key: key2, rate_limit: { unit: minute, requests_per_unit: 20 } }
  - { key: key3, rate_limit: { unit: hour, requests_per_unit: 10 } }
  - { key: bucket, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: token_bucket, burst: 3 } }
  - { key: other_bucket, rate_limit: { unit: minute, requests_per_unit: 60, algorithm: token_bucket, burst: 1 } }
  - { key: long, rate_limit: { window_seconds: 7200, requests_per_unit: 1 } }
`;
const FILES = { "basic.yaml": BASIC, "another.yml": ANOTHER };

const INTEGRATION = `
domain: rl
descriptors:
  - { key: category, value: account, rate_limit: { unit: minute, requests_per_unit: 4, replaces: [{ name: narrow }, { name: fake }] } }
  - key: source
    value: proxy
    descriptors:
      - { key: target, value: narrow, rate_limit: { unit: minute, requests_per_unit: 2, replaces: [{ name: narrow }] } }
      - { key: target, value: override, rate_limit: { unit: minute, requests_per_unit: 2, replaces: [{ name: banned }] } }
      - { key: target, value: fake, rate_limit: { unit: minute, requests_per_unit: 2, name: fake } }
  - key: foo
    descriptors:
      - { key: bar, value: narrow, rate_limit: { unit: minute, requests_per_unit: 1, name: narrow } }
      - { key: bar, value: banned, rate_limit: { unit: minute, requests_per_unit: 0, name: banned } }
      - { key: baz, value: shady, shadow_mode: true, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: service, value: one, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: service, value: two, quota_mode: true, rate_limit: { unit: minute, requests_per_unit: 2 } }
`;
/** Descriptors, with `+0` where they only look, and the overall codes of that request, sent again and again. */
const INTEGRATION_CASES: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  ["a shadow limit", [["foo=a baz=shady", "OK OK OK OK OK"]]],
  [
    "a limit of 0 that is replaced",
    [
      ["foo=a bar=banned", "OVER_LIMIT"],
      ["foo=a bar=banned | source=proxy target=unknown", "OVER_LIMIT"],
      ["foo=a bar=banned | source=proxy target=override", "OK OK OVER_LIMIT"],
    ],
  ],
  [
    "a replaced limit, which is not charged",
    [
      ["foo=a bar=narrow | source=proxy target=narrow", "OK OK OVER_LIMIT"],
      ["foo=a bar=narrow | source=proxy target=unknown", "OK OVER_LIMIT"],
      ["foo=a bar=narrow | source=proxy target=narrow", "OVER_LIMIT"],
    ],
  ],
  [
    "two replaced limits",
    [
      ["foo=a bar=narrow | source=proxy target=fake | category=account", "OK OK OK OK OVER_LIMIT"],
      ["foo=a bar=narrow", "OK OVER_LIMIT"],
      ["foo=a bar=unknown | source=proxy target=fake", "OK OK OVER_LIMIT"],
      ["foo=a bar=narrow | source=proxy target=fake | category=account", "OVER_LIMIT"],
    ],
  ],
  ["quotas", [["service=one | service=two", "OK OK OVER_LIMIT"]]],
  [
    "quotas that are charged after the response",
    [
      ["service=one+0 | service=two+0", "OK"],
      ["service=two", "OK"],
      ["service=one+0 | service=two+0", "OK"],
      ["service=two", "OK"],
      ["service=two+0", "OK"],
      ["service=two", "OVER_LIMIT"],
      ["service=two+0", "OVER_LIMIT"],
      // The other one still has room.
      ["service=one+0 | service=two+0", "OK"],
      ["service=one", "OK"],
      ["service=one", "OVER_LIMIT"],
      ["service=one+0 | service=two+0", "OVER_LIMIT"],
    ],
  ],
];

function integrationRequest(text: string): readonly object[] {
  return text.split(" | ").map((each) => {
    const [descriptor] = described(each.replace("+0", ""));
    return each.endsWith("+0") ? { ...descriptor, hits_addend: { value: 0 } } : descriptor;
  });
}

async function setUp() {
  const served = await servedEnvoy({ files: FILES });
  const ask = (domain: string, descriptors: readonly object[], hits = 0): Promise<RateLimitResponse> =>
    shouldRateLimit(served.address, { domain, descriptors, hits_addend: hits });
  return { ...served, ask };
}

/** What a response says of each descriptor, as `OK 49`. */
function told({ overall_code, statuses }: RateLimitResponse): string[] {
  return [overall_code, ...statuses.map(({ code, limit_remaining = 0 }) => `${code} ${limit_remaining}`)];
}

describe("ShouldRateLimit, with the integration cases of envoyproxy/ratelimit", () => {
  it.each(INTEGRATION_CASES)("%s", async (_, steps) => {
    const { address } = await servedEnvoy({ files: { "rl.yaml": INTEGRATION } });
    for (const [text, codes] of steps) {
      for (const code of codes.split(" ")) {
        const asked = { domain: "rl", descriptors: integrationRequest(text) };
        expect(await shouldRateLimit(address, asked), text).toMatchObject({ overall_code: code });
      }
    }
  });
});

describe("ShouldRateLimit", () => {
  it("is OK without a limit where there is none", async () => {
    const { ask } = await setUp();
    const missing = { overall_code: "OK", statuses: [{ code: "OK" }] };
    expect(await ask("foo", described("hello=world"))).toEqual(missing);
    expect(await ask("basic", described("hello=world"))).toEqual(missing);
    expect(await ask("basic", described("outer=a"))).toEqual(missing);
    expect(await ask("basic", described("outer=a inner=b deeper=c"))).toEqual(missing);
    expect(await ask("basic", described("outer=b inner=b"))).toEqual(missing);
  });

  it("reports the limit, what is left, and when the window ends", async () => {
    const { ask, clock } = await setUp();
    expect((await ask("basic", described("key1=foo"))).statuses).toEqual([
      {
        code: "OK",
        current_limit: { requests_per_unit: 50, unit: "SECOND" },
        limit_remaining: 49,
        duration_until_reset: { seconds: 1 },
      },
    ]);
    await clock.advance(12_300);
    expect((await ask("basic", described("outer=a inner=x"))).statuses).toEqual([
      {
        code: "OK",
        current_limit: { requests_per_unit: 2, unit: "DAY", name: "inner_limit" },
        limit_remaining: 1,
        duration_until_reset: { seconds: 86_388 },
      },
    ]);
  });

  it("counts 20 a minute, then denies", async () => {
    const { ask } = await setUp();
    for (let i = 0; i < 25; i += 1) {
      const code = i < 20 ? "OK" : "OVER_LIMIT";
      expect(told(await ask("another", described("key2=1")))).toEqual([code, `${code} ${Math.max(0, 19 - i)}`]);
    }
    expect(told(await ask("another", described("key2=2")))).toEqual(["OK", "OK 19"]);
  });

  it("counts every descriptor, also of requests that another one denies", async () => {
    const { ask } = await setUp();
    for (let i = 0; i < 15; i += 1) {
      const code = i < 10 ? "OK" : "OVER_LIMIT";
      const statuses = [`OK ${19 - i}`, `${code} ${Math.max(0, 9 - i)}`];
      expect(told(await ask("another", described("key2=1", "key3=1")))).toEqual([code, ...statuses]);
    }
  });

  it("counts denied hits, too", async () => {
    const { ask } = await setUp();
    expect(told(await ask("another", described("key2=1"), 18))).toEqual(["OK", "OK 2"]);
    expect(told(await ask("another", described("key2=1"), 6))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
    // Without the denied 6, this one would pass.
    expect(told(await ask("another", described("key2=1"), 1))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
  });

  it("takes the hits of the descriptor before those of the request, and only looks if they are 0", async () => {
    const { ask } = await setUp();
    const [descriptor] = described("key2=1");
    const withHits = (value: number) => [{ ...descriptor, hits_addend: { value } }];
    expect(told(await ask("another", withHits(5), 3))).toEqual(["OK", "OK 15"]);
    expect(told(await ask("another", [descriptor], 3))).toEqual(["OK", "OK 12"]);
    expect(told(await ask("another", withHits(0), 3))).toEqual(["OK", "OK 12"]);
    expect(told(await ask("another", withHits(12)))).toEqual(["OK", "OK 0"]);
    expect(told(await ask("another", withHits(0)))).toEqual(["OK", "OK 0"]);
    expect(told(await ask("another", withHits(1)))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
    expect(told(await ask("another", withHits(0)))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
  });

  it("starts again with the next window", async () => {
    const { ask, clock } = await setUp();
    expect(told(await ask("basic", described("one_per_minute=x")))).toEqual(["OK", "OK 0"]);
    expect(told(await ask("basic", described("one_per_minute=x")))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
    await clock.advance(60_000);
    expect(told(await ask("basic", described("one_per_minute=x")))).toEqual(["OK", "OK 0"]);
  });

  it("knows limits of 0 and unlimited descriptors", async () => {
    const { ask } = await setUp();
    expect(told(await ask("basic", described("blocked=x")))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
    expect(await ask("basic", described("free=x"))).toEqual({
      overall_code: "OK",
      statuses: [{ code: "OK", limit_remaining: 4_294_967_295 }],
    });
  });

  it("counts what is charged to a limit of 0, with headers and figures as for other limits", async () => {
    const { ask, told: telemetry } = await setUp();
    const [descriptor] = described("blocked=x");
    const look = [{ ...descriptor, hits_addend: { value: 0 } }];
    expect(told(await ask("basic", look))).toEqual(["OK", "OK 0"]);
    const { response_headers_to_add: headers } = await ask("basic", [descriptor]);
    expect(headers).toEqual([
      { key: "RateLimit-Policy", value: '"basic.blocked";q=0;w=60' },
      { key: "RateLimit", value: '"basic.blocked";r=0;t=60' },
      { key: "content-type", value: "application/problem+json" },
    ]);
    expect(telemetry.counts).toEqual(["basic.blocked allowed store 1", "basic.blocked denied store 1"]);
    expect(told(await ask("basic", look))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
    // Limits with the same window share the counter.
    const ample = [{ ...descriptor, limit: { requests_per_unit: 5, unit: "MINUTE" } }];
    expect(told(await ask("basic", ample))).toEqual(["OK", "OK 3"]);
  });

  it("does not take from other limits if a limit of 0 denies, or all quotas do", async () => {
    const { ask } = await setUp();
    const left = async (key: string): Promise<number | undefined> => {
      const look = [{ ...described(key)[0], hits_addend: { value: 0 } }];
      return (await ask("basic", look)).statuses[0].limit_remaining;
    };
    expect(told(await ask("basic", described("bucket=a", "blocked=a")))).toEqual([
      "OVER_LIMIT",
      "OK 3",
      "OVER_LIMIT 0",
    ]);
    expect(await left("bucket=a")).toBe(3);
    // A quota that is charged in any case, and one that is not.
    for (const [i, quota] of ["q1=a", "q3=a"].entries()) {
      const bucket = `bucket=quota${i}`;
      expect((await ask("basic", described(bucket, quota))).overall_code).toBe("OK");
      expect((await ask("basic", described(bucket, quota))).overall_code).toBe("OVER_LIMIT");
      expect(await left(bucket)).toBe(2);
    }
  });

  it("takes from other limits if a quota denies and another one is refunded, because the request is admitted", async () => {
    const { address } = await setUp();
    const ask = (...descriptors: readonly object[]): Promise<RateLimitResponse> =>
      shouldRateLimit(address, { domain: "basic", descriptors }, { key: KEY });
    const [quota, refunded, bucket] = described("q1=a", "q2=a", "bucket=a");
    await ask(quota);
    const answer = await ask(quota, { ...refunded, is_negative_hits: true }, bucket);
    expect(told(answer)).toEqual(["OK", "OVER_LIMIT 0", "OK 2", "OK 2"]);
    expect(told(await ask({ ...bucket, hits_addend: { value: 0 } }))).toEqual(["OK", "OK 2"]);
  });

  it("never denies in shadow mode, and counts it", async () => {
    const { ask, told: telemetry } = await setUp();
    for (let i = 0; i < 3; i += 1) expect(told(await ask("basic", described("trial=x")))).toEqual(["OK", "OK 0"]);
    expect(telemetry.counts.filter((line) => line.includes("denied in shadow mode"))).toHaveLength(2);
  });

  it("counts values of one wildcard together if they share a threshold, and apart otherwise", async () => {
    const { ask } = await setUp();
    for (const [i, name] of ["a", "b", "c"].entries()) {
      expect(told(await ask("basic", described(`files=files/${name}`)))).toEqual(["OK", `OK ${2 - i}`]);
    }
    expect(told(await ask("basic", described("files=files/d")))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
    for (const name of ["foo1", "foo2", "foo"]) {
      expect(told(await ask("basic", described(`wild=${name}`)))).toEqual(["OK", "OK 0"]);
    }
    expect(told(await ask("basic", described("wild=fo")))).toEqual(["OK", "OK 0"]);
    expect((await ask("basic", described("wild=fo"))).statuses[0].current_limit).toBeUndefined();
  });

  it("leaves out limits that another descriptor replaces", async () => {
    const { ask } = await setUp();
    expect(told(await ask("basic", described("base=x", "special=x")))).toEqual(["OK", "OK 0", "OK 4"]);
    expect((await ask("basic", described("base=x", "special=x"))).statuses[0].current_limit).toBeUndefined();
    expect(told(await ask("basic", described("base=x")))).toEqual(["OK", "OK 0"]);
    expect(told(await ask("basic", described("base=x")))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
  });

  it("denies in quota mode only if all quotas are used up", async () => {
    const { ask } = await setUp();
    const both = described("q1=x", "q2=x");
    expect(told(await ask("basic", both))).toEqual(["OK", "OK 0", "OK 1"]);
    expect(told(await ask("basic", both))).toEqual(["OK", "OVER_LIMIT 0", "OK 0"]);
    expect(told(await ask("basic", both))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0", "OVER_LIMIT 0"]);
  });

  it("takes limits that come with the request, each counted under its unit", async () => {
    const { ask } = await setUp();
    const [descriptor] = described("key2=x");
    const minute = [{ ...descriptor, limit: { requests_per_unit: 2, unit: "MINUTE" } }];
    const hour = [{ ...descriptor, limit: { requests_per_unit: 5, unit: "HOUR" } }];
    expect(told(await ask("another", minute))).toEqual(["OK", "OK 1"]);
    expect(told(await ask("another", hour))).toEqual(["OK", "OK 4"]);
    // The limit of the configuration is a minute, too, so it is the same counter.
    expect(told(await ask("another", [descriptor]))).toEqual(["OK", "OK 18"]);
    expect(told(await ask("another", minute))).toEqual(["OVER_LIMIT", "OVER_LIMIT 0"]);
    expect((await ask("another", hour)).statuses[0].current_limit).toEqual({ requests_per_unit: 5, unit: "HOUR" });
  });

  it("decides by other algorithms and windows, which do not charge what they deny", async () => {
    const { ask, clock } = await setUp();
    expect(told(await ask("another", described("bucket=x"), 2))).toEqual(["OK", "OK 1"]);
    expect(told(await ask("another", described("bucket=x"), 2))).toEqual(["OVER_LIMIT", "OVER_LIMIT 1"]);
    expect(told(await ask("another", described("bucket=x")))).toEqual(["OK", "OK 0"]);
    await clock.advance(1_000);
    expect(told(await ask("another", described("bucket=x")))).toEqual(["OK", "OK 0"]);
    const { statuses } = await ask("another", described("long=x"));
    expect(statuses).toEqual([
      {
        code: "OK",
        current_limit: { requests_per_unit: 1 },
        duration_until_reset: { seconds: 7_199 },
      },
    ]);
  });

  it("charges limits that need not be charged only if the whole request is admitted", async () => {
    const { ask } = await setUp();
    const both = described("bucket=y", "other_bucket=y");
    expect(told(await ask("another", both))).toEqual(["OK", "OK 2", "OK 0"]);
    expect(told(await ask("another", both))).toEqual(["OVER_LIMIT", "OK 2", "OVER_LIMIT 0"]);
    const mixed = described("bucket=z", "key3=z");
    for (let i = 0; i < 10; i += 1) await ask("another", described("key3=z"));
    expect(told(await ask("another", mixed))).toEqual(["OVER_LIMIT", "OK 3", "OVER_LIMIT 0"]);
  });

  it("refuses requests that cannot be meant", async () => {
    const { ask } = await setUp();
    await expect(ask("", described("a=b"))).rejects.toMatchObject({
      code: 3,
      details: expect.stringMatching(/domain/),
    });
    await expect(ask("basic", [])).rejects.toMatchObject({ code: 3 });
    await expect(ask("basic", [{ entries: [] }])).rejects.toMatchObject({ code: 3 });
    const [descriptor] = described("a=b");
    await expect(ask("basic", [{ ...descriptor, limit: { requests_per_unit: 1 } }])).rejects.toMatchObject({
      code: 3,
      details: expect.stringMatching(/unit/),
    });
  });

  it("sends the headers of the IETF draft, and a problem with a denial", async () => {
    const { ask, told: telemetry } = await setUp();
    await ask("basic", described("one_per_minute=x"));
    const { response_headers_to_add: headers = [], raw_body } = await ask("basic", described("one_per_minute=x"));
    expect(headers).toEqual([
      { key: "RateLimit-Policy", value: '"basic.one_per_minute";q=1;w=60' },
      { key: "RateLimit", value: '"basic.one_per_minute";r=0;t=60' },
      { key: "Retry-After", value: "60" },
      { key: "content-type", value: "application/problem+json" },
    ]);
    expect(JSON.parse(String(raw_body))).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      status: 429,
      "violated-policies": ["basic.one_per_minute"],
    });
    expect(telemetry.counts).toEqual(["basic.one_per_minute allowed store 1", "basic.one_per_minute denied store 1"]);
    expect(telemetry.calls).toEqual(["envoy ShouldRateLimit OK", "envoy ShouldRateLimit OK"]);
  });

  it("sends the headers of envoyproxy/ratelimit if asked to, about the limit that it would choose", async () => {
    const { address } = await servedEnvoy({ files: FILES, settings: { envoyHeaders: "ratelimit" } });
    const headers = async (descriptors: readonly object[], domain = "basic"): Promise<readonly string[]> => {
      const { response_headers_to_add: headers = [] } = await shouldRateLimit<RateLimitResponse>(address, {
        domain,
        descriptors,
      });
      return headers.filter(({ key }) => key !== "content-type").map(({ key, value }) => `${key}: ${value}`);
    };
    const look = [{ ...described("one_per_minute=x")[0], hits_addend: { value: 0 } }];
    expect(await headers(look)).toEqual(["RateLimit-Limit: 1", "RateLimit-Remaining: 1", "RateLimit-Reset: 60"]);
    const [used] = described("one_per_minute=x");
    expect(await headers([used])).toEqual(["RateLimit-Limit: 1", "RateLimit-Remaining: 0", "RateLimit-Reset: 60"]);
    // The last of those that deny.
    const denied = await headers([used, ...described("blocked=x", "key1=x")]);
    expect(denied).toEqual(["RateLimit-Limit: 0", "RateLimit-Remaining: 0", "RateLimit-Reset: 60"]);
    // The first of those with the least left.
    const tightest = await headers(described("key2=x", "long=x", "key3=x"), "another");
    expect(tightest).toEqual(["RateLimit-Limit: 1", "RateLimit-Remaining: 0", "RateLimit-Reset: 7200"]);
  });
});
