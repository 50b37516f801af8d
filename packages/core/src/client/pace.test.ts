import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { gatedServer, serverOf } from "../../test/client/server.ts";
import { watch } from "../../test/limiter/watched-promise.ts";
import { testAdapter } from "../../test/middleware/request.ts";
import { type FetchOptions, pacedFetch } from "../client.ts";
import { fixedWindow, gcra, type Limit, slidingWindow, tokenBucket } from "../index.ts";
import { RateLimitMiddleware } from "../middleware/middleware.ts";
import { ManualClock, testLimiter } from "../testing/index.ts";

const A = "https://a.example/";
const B = "https://b.example/";

/** A server that always sends the same headers. */
function telling(headers: Record<string, string>, options: Partial<FetchOptions> = {}, travelMs = 0) {
  const clock = new ManualClock();
  const server = serverOf(clock, () => ({ status: 200, headers }), travelMs);
  const fetch = pacedFetch({ fetch: server.fetch, clock, random: () => 0, ...options });
  const sendAll = async (count: number, url = A) => {
    for (let i = 0; i < count; i += 1) fetch(url);
    await clock.advance(0);
  };
  return { clock, fetch, sendAll, times: () => server.seen.map(({ atMs }) => atMs) };
}

describe("a client that knows its limit", () => {
  it("waits when nothing remains, until the time is over", async () => {
    const { clock, fetch, times } = telling({ RateLimit: '"api";r=0;t=10' });
    await fetch(A);
    fetch(A);
    await clock.advance(9_999);
    expect(times()).toEqual([0]);
    await clock.advance(1);
    expect(times()).toEqual([0, 10_000]);
  });

  it("uses what remains at once, and then waits", async () => {
    const { sendAll, clock, times } = telling({ RateLimit: '"api";r=3;t=10' }, {}, 1);
    await sendAll(1);
    await clock.advance(2);
    await sendAll(5);
    await clock.advance(1);
    expect(times()).toEqual([1, 3, 3, 3]);
  });

  it("sends one request first when the wait is over, and the others once it was answered", async () => {
    const { sendAll, clock, times } = telling({ RateLimit: '"api";r=0;t=10' }, {}, 100);
    await sendAll(1);
    await clock.advance(200);
    await sendAll(4);
    await clock.advance(30_000);
    expect(times()).toEqual([100, 10_300, 20_500]);
  });

  it("spreads what is left when that is little", async () => {
    const headers = { "RateLimit-Policy": '"api";q=100;w=60', RateLimit: '"api";r=9;t=50' };
    const { fetch, sendAll, clock, times } = telling(headers);
    await fetch(A);
    await sendAll(2);
    await clock.advance(4_999);
    expect(times()).toEqual([0]);
    await clock.advance(1);
    expect(times()).toEqual([0, 5_000]);
    await clock.advance(5_000);
    expect(times()).toEqual([0, 5_000, 10_000]);
  });

  it("does not hold up requests to another server, or of another group", async () => {
    const { fetch, sendAll, times } = telling({ RateLimit: '"api";r=0;t=10' });
    await fetch(A);
    await sendAll(1, B);
    expect(times()).toEqual([0, 0]);
    const grouped = telling({ RateLimit: '"api";r=0;t=10' }, { groupOf: (url) => new URL(url).pathname });
    await grouped.fetch(`${A}search`);
    await grouped.sendAll(1, `${A}users`);
    await grouped.sendAll(1, `${B}search`);
    expect(grouped.times()).toEqual([0, 0]);
  });

  it("waits no longer than it may, and then asks", async () => {
    const { fetch, sendAll, clock, times } = telling({ RateLimit: '"api";r=0;t=600' }, { maxWaitMs: 5_000 });
    await fetch(A);
    await sendAll(3);
    await clock.advance(4_999);
    expect(times()).toEqual([0]);
    await clock.advance(1);
    expect(times()).toEqual([0, 5_000, 5_000, 5_000]);
  });

  it("tracks a bounded number of limits, whatever a server sends", async () => {
    const limits = Array.from({ length: 50 }, (_, i) => `"p${i}";r=0;t=${i + 1}`).join(", ");
    const { fetch, clock, times } = telling({ RateLimit: limits });
    await fetch(A);
    fetch(A);
    await clock.advance(60_000);
    expect(times()).toEqual([0, 32_000]);
  });

  it.each([
    [999, [0]],
    [1_000, [0, 0]],
  ])("remembers a thousand servers: after %d others the first is called at %j", async (others, called) => {
    const { fetch, clock } = telling({ RateLimit: '"api";r=0;t=10' });
    await fetch(A);
    for (let i = 0; i < others; i += 1) await fetch(`https://host-${i}.example/`);
    const again = watch(clock, fetch(A));
    await clock.advance(0);
    expect([0, again.at].filter((at) => at !== undefined)).toEqual(called);
  });

  it("ignores quotas that are not counted in requests or have no reset time", async () => {
    for (const headers of [
      { "RateLimit-Policy": '"api";q=9;qu="content-bytes"', RateLimit: '"api";r=0;t=9' },
      { RateLimit: '"api";r=0' },
    ]) {
      const { fetch, sendAll, times } = telling(headers);
      await fetch(A);
      await sendAll(3);
      expect(times()).toEqual([0, 0, 0, 0]);
    }
  });

  it("does not wait if pacing is disabled", async () => {
    const { fetch, sendAll, times } = telling({ RateLimit: '"api";r=0;t=10' }, { pace: false });
    await fetch(A);
    await sendAll(2);
    expect(times()).toEqual([0, 0, 0]);
  });

  it("removes an aborted request from the queue and keeps the order of the others", async () => {
    const clock = new ManualClock();
    const server = serverOf(clock, (_url, n) => ({
      status: 200,
      headers: n === 0 ? { RateLimit: '"api";r=0;t=10' } : {},
    }));
    const fetch = pacedFetch({ fetch: server.fetch, clock });
    await fetch(A);
    const controller = new AbortController();
    const [first, second] = [controller.signal, undefined].map((signal, i) => {
      return watch(clock, fetch(`${A}${i}`, signal === undefined ? {} : { signal }));
    });
    const third = watch(clock, fetch(`${A}2`));
    await clock.advance(1_000);
    controller.abort(new Error("left"));
    await clock.advance(9_000);
    expect(first.error).toMatchObject({ message: "left" });
    expect([second.at, third.at]).toEqual([10_000, 10_000]);
    expect(server.seen.map(({ url }) => url)).toEqual([A, `${A}1`, `${A}2`]);
  });

  it("keeps the order if a request in the middle of the queue is aborted", async () => {
    const clock = new ManualClock();
    const told = (count: number) => ({ status: 200, headers: count === 0 ? { RateLimit: '"api";r=0;t=10' } : {} });
    const server = serverOf(clock, (_url, count) => told(count), 100);
    const fetch = pacedFetch({ fetch: server.fetch, clock });
    fetch(`${A}told`);
    await clock.advance(200);
    const controller = new AbortController();
    fetch(`${A}finds-out`);
    fetch(`${A}first`);
    const second = watch(clock, fetch(`${A}second`, { signal: controller.signal }));
    fetch(`${A}third`);
    // One request is in flight as a probe; the others wait for its response.
    await clock.advance(10_050);
    controller.abort(new Error("left"));
    await clock.advance(1_000);
    expect(second.error).toMatchObject({ message: "left" });
    const order = server.seen.map(({ url, atMs }) => [url.slice(A.length), atMs]);
    expect(order.slice(1)).toEqual([
      ["finds-out", 10_300],
      ["first", 10_500],
      ["third", 10_500],
    ]);
  });

  it("forgets a limit that the server no longer reports, and retries after a failure", async () => {
    const clock = new ManualClock();
    const answers = [
      { status: 200, headers: { RateLimit: '"api";r=0;t=10' } },
      new TypeError("fetch failed"),
      { status: 200 },
      { status: 200 },
    ];
    const server = serverOf(clock, (_url, count) => answers[count] ?? { status: 200 });
    const fetch = pacedFetch({ fetch: server.fetch, clock });
    await fetch(A);
    const all = [1, 2, 3].map((i) => watch(clock, fetch(`${A}${i}`)));
    await clock.advance(10_000);
    expect(all[0].error).toMatchObject({ message: "fetch failed" });
    expect(all.map(({ at }) => at)).toEqual([10_000, 10_000, 10_000]);
  });
});

describe("a Retry-After", () => {
  it("delays all requests to that server, and then sends one first", async () => {
    const clock = new ManualClock();
    const server = serverOf(
      clock,
      (_url, count) => (count === 0 ? { status: 503, headers: { "Retry-After": "10" } } : { status: 200 }),
      50,
    );
    const fetch = pacedFetch({ fetch: server.fetch, clock, random: () => 0, maxRetries: 0 });
    fetch(A);
    await clock.advance(100);
    for (let i = 0; i < 3; i += 1) fetch(A);
    await clock.advance(20_000);
    expect(server.seen.map(({ atMs }) => atMs)).toEqual([50, 10_150, 10_250, 10_250]);
  });

  it("without end stops delaying requests once one that was sent anyway succeeds", async () => {
    const clock = new ManualClock();
    const endless = { status: 429, headers: { "Retry-After": "9".repeat(20) } };
    const answers = [endless, new TypeError("fetch failed"), { status: 429 }];
    const server = serverOf(clock, (_url, count) => answers[count] ?? { status: 200 });
    const fetch = pacedFetch({ fetch: server.fetch, clock, maxRetries: 0, maxWaitMs: 5_000 });
    for (let i = 0; i < 5; i += 1) {
      const response = watch(clock, fetch(A));
      await clock.advance(6_000);
      expect(response.at).toBeDefined();
    }
    expect(server.seen.map(({ atMs }) => atMs)).toEqual([0, 11_000, 17_000, 23_000, 24_000]);
  });

  it("is kept although a request that was sent earlier succeeds", async () => {
    const clock = new ManualClock();
    const denied = { status: 429, headers: { "Retry-After": "10" } };
    const server = serverOf(clock, (_url, count) => (count === 0 ? denied : { status: 200 }), 50);
    const fetch = pacedFetch({ fetch: server.fetch, clock, maxRetries: 0 });
    const both = [watch(clock, fetch(A)), watch(clock, fetch(A))];
    await clock.advance(100);
    expect(both.map(({ value }) => value?.status)).toEqual([429, 200]);
    fetch(A);
    await clock.advance(20_000);
    expect(server.seen.map(({ atMs }) => atMs)).toEqual([50, 50, 10_150]);
  });

  it("of a 403 holds up all requests as well", async () => {
    const clock = new ManualClock();
    const denied = { status: 403, headers: { "Retry-After": "10" } };
    const server = serverOf(clock, (_url, count) => (count === 0 ? denied : { status: 200 }));
    const fetch = pacedFetch({ fetch: server.fetch, clock, maxRetries: 0 });
    expect((await fetch(A)).status).toBe(403);
    fetch(A);
    await clock.advance(10_000);
    expect(server.seen.map(({ atMs }) => atMs)).toEqual([0, 10_000]);
  });

  it("of a redirection or a success is none of a limit", async () => {
    const { fetch, sendAll, times } = telling({ "Retry-After": "10" });
    await fetch(A);
    await sendAll(1);
    expect(times()).toEqual([0, 0]);
  });
});

describe("against our own middleware", () => {
  const limits: [string, Limit][] = [
    ["a token bucket", tokenBucket("10/s")],
    ["a bucket with a small burst", gcra("60/m", { burst: 3 })],
    ["a fixed window", fixedWindow("5/10s")],
    ["a sliding window", slidingWindow("5/10s")],
  ];

  it.each(limits)("a crowd under %s is served in the end, and hardly ever denied", async (_name, limit) => {
    const { limiter, clock } = testLimiter({ api: limit });
    const gate = new RateLimitMiddleware(limiter, { rules: "api", proxies: 0, clock }, testAdapter);
    const server = gatedServer(clock, gate, 20);
    const fetch = pacedFetch({ fetch: server.fetch, clock, random: () => 0, maxWaitMs: 3_600_000 });
    const responses = Array.from({ length: 30 }, () => watch(clock, fetch(A)));
    await clock.advance(3_600_000);
    expect(responses.map(({ value }) => value?.status)).toEqual(Array(30).fill(200));
    // The first of them went before anything was known.
    const deniedLater = server.seen.slice(30).filter(({ status }) => status === 429);
    expect(deniedLater.length).toBeLessThanOrEqual(3);
  });

  it("a lone client that retries at Retry-After always succeeds at the second attempt", async () => {
    const anyLimit = fc.constantFrom(...limits.map(([, limit]) => limit));
    await fc.assert(
      fc.asyncProperty(
        anyLimit,
        fc.array(fc.integer({ min: 0, max: 3_000 }), { maxLength: 40 }),
        async (limit, pauses) => {
          const { limiter, clock } = testLimiter({ api: limit });
          const gate = new RateLimitMiddleware(limiter, { rules: "api", proxies: 0, clock }, testAdapter);
          const server = gatedServer(clock, gate);
          const fetch = pacedFetch({ fetch: server.fetch, clock, pace: false, maxRetries: 1 });
          for (const pause of pauses) {
            const response = watch(clock, fetch(A));
            while (response.at === undefined) await clock.advance(100);
            expect(response.value?.status).toBe(200);
            await clock.advance(pause);
          }
        },
      ),
      { numRuns: 50 },
    );
  });
});
