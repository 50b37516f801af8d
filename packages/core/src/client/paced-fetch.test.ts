import { refusal } from "headgate-testkit/refusal";
import { describe, expect, it } from "vitest";
import { serverOf } from "../../test/client/server.ts";
import { watch } from "../../test/limiter/watched-promise.ts";
import type { FetchOptions, Retry } from "../client.ts";
import { pacedFetch } from "../client.ts";
import { ManualClock } from "../testing/index.ts";

const URL_A = "https://a.example/items";

/** A server that refuses so often, and how a client takes it. */
function setting(
  refusals: readonly { status: number; headers?: Record<string, string> }[],
  options: Partial<FetchOptions> = {},
) {
  const clock = new ManualClock(1_700_000_000_000);
  const start = clock.now() / 1000;
  const server = serverOf(clock, (_url, count) => refusals[count] ?? { status: 200 });
  const retries: Retry[] = [];
  const fetch = pacedFetch({
    fetch: server.fetch,
    clock,
    random: () => 0,
    onRetry: (r) => retries.push(r),
    ...options,
  });
  const times = () => server.seen.map(({ atMs }) => atMs - start);
  return { clock, fetch, retries, times, seen: server.seen };
}

const told = (seconds: string) => ({ status: 429, headers: { "Retry-After": seconds } });

describe("a request that is denied", () => {
  it("is retried at the time that the server gave", async () => {
    const { fetch, clock, times, retries } = setting([told("5"), told("2")]);
    const response = watch(clock, fetch(URL_A));
    await clock.advance(4_999);
    expect(times()).toEqual([0]);
    await clock.advance(10_000);
    expect(times()).toEqual([0, 5_000, 7_000]);
    expect(response.value?.status).toBe(200);
    expect(retries).toEqual([
      { url: URL_A, status: 429, attempt: 1, waitMs: 5_000 },
      { url: URL_A, status: 429, attempt: 2, waitMs: 2_000 },
    ]);
  });

  it.each([
    ["a date", { "Retry-After": new Date(1_700_000_003_000).toUTCString() }, 3_000],
    ["the draft", { RateLimit: '"a";r=5;t=60, "b";r=0;t=4' }, 4_000],
    ["draft 6", { "RateLimit-Remaining": "0", "RateLimit-Reset": "6" }, 6_000],
    ["GitLab's Unix time", { "RateLimit-Remaining": "0", "RateLimit-Reset": "1700000008" }, 8_000],
    ["Discord's duration", { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "4.5" }, 4_500],
    ["what is told, where another limit tells nothing", { RateLimit: '"a";r=0, "b";r=0;t=4' }, 4_000],
    ["a Unix time", { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000009" }, 9_000],
    ["Retry-After before all", { "Retry-After": "7", RateLimit: '"b";r=0;t=4' }, 7_000],
  ])("waits by %s", async (_name, headers, ms) => {
    const { fetch, clock, times } = setting([{ status: 429, headers }], { pace: false });
    fetch(URL_A);
    await clock.advance(20_000);
    expect(times()).toEqual([0, ms]);
  });

  it("waits twice as long each time if the server gives no time", async () => {
    const { fetch, clock, times } = setting(Array(3).fill({ status: 503 }), { random: () => 1 });
    fetch(URL_A);
    await clock.advance(60_000);
    expect(times()).toEqual([0, 500, 1_500, 3_500]);
  });

  it.each<Record<string, string>>([
    { "X-RateLimit-Remaining": "0" },
    { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon" },
    { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1699999990" },
    { "RateLimit-Remaining": "0" },
    { RateLimit: "limit=5, remaining=0" },
    { RateLimit: '"a";r=0' },
    { RateLimit: '"a";r=0;t=0' },
    { RateLimit: '"a";r=3;t=9' },
  ])("also does so if the header contains no usable time: %j", async (headers) => {
    for (const pace of [true, false]) {
      const denied = Array(3).fill({ status: 429, headers });
      const { fetch, clock, times } = setting(denied, { random: () => 1, pace });
      fetch(URL_A);
      await clock.advance(60_000);
      expect(times()).toEqual([0, 500, 1_500, 3_500]);
    }
  });

  it.each([
    ["nothing remaining until then", { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000009" }, 9_000],
    ["nothing remaining", { "X-RateLimit-Remaining": "0" }, 250],
    ["Retry-After", { "Retry-After": "7", "X-RateLimit-Remaining": "40" }, 7_000],
  ])("by a 403 with %s waits as for a 429, whatever its method", async (_name, headers, ms) => {
    const { fetch, clock, times, retries } = setting([{ status: 403, headers }]);
    const response = watch(clock, fetch(URL_A, { method: "POST", body: "hello" }));
    await clock.advance(20_000);
    expect(times()).toEqual([0, ms]);
    expect(response.value?.status).toBe(200);
    expect(retries).toEqual([{ url: URL_A, status: 403, attempt: 1, waitMs: ms }]);
  });

  it.each<Record<string, string>>([
    {},
    { "X-RateLimit-Remaining": "40", "X-RateLimit-Reset": "1700000009" },
    { RateLimit: '"a";r=0;t=1' },
    { "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000009", Age: "5" },
  ])("by a 403 with only %j is not retried", async (headers) => {
    const { fetch, clock, seen } = setting([{ status: 403, headers }]);
    const response = watch(clock, fetch(URL_A));
    await clock.advance(60_000);
    expect(response.value?.status).toBe(403);
    expect(seen).toHaveLength(1);
  });

  it("is retried slightly later than the given time, to spread out retries, and never earlier", async () => {
    const { fetch, clock, times } = setting([told("10")], { random: () => 1 });
    fetch(URL_A);
    await clock.advance(20_000);
    expect(times()).toEqual([0, 11_000]);
  });

  it("is not retried after the maximum number of attempts: the caller gets the denial", async () => {
    const { fetch, clock, seen } = setting(Array(10).fill(told("1")), { maxRetries: 2 });
    const response = watch(clock, fetch(URL_A));
    await clock.advance(10_000);
    expect(response.value?.status).toBe(429);
    expect(await response.value?.text()).toBe("body");
    expect(seen).toHaveLength(3);
  });

  it("is given up at once if it would take too long, in one wait or all together", async () => {
    const long = setting([told("61")]);
    expect((await long.fetch(URL_A)).status).toBe(429);
    const endless = setting([told("9".repeat(20))]);
    expect((await endless.fetch(URL_A)).status).toBe(429);
    const often = setting(Array(10).fill(told("25")), { maxRetries: 9 });
    const response = watch(often.clock, often.fetch(URL_A));
    await often.clock.advance(100_000);
    expect(response.value?.status).toBe(429);
    expect(often.times()).toEqual([0, 25_000, 50_000]);
  });

  it.each([
    ["GET", 503, 2],
    ["PUT", 503, 2],
    ["delete", 503, 2],
    ["POST", 503, 1],
    ["PATCH", 503, 1],
    ["POST", 429, 2],
    ["PATCH", 429, 2],
    ["GET", 500, 1],
    ["GET", 404, 1],
  ])("by %s with a %d is sent %d times", async (method, status, times) => {
    const { fetch, clock, seen } = setting([{ status }], { maxRetries: 1 });
    const response = watch(clock, fetch(URL_A, { method }));
    await clock.advance(10_000);
    expect(seen).toHaveLength(times);
    expect(response.value?.status).toBe(times === 2 ? 200 : status);
  });

  it("is sent with its body each time, given beside it or in it", async () => {
    for (const send of [
      (fetch: typeof globalThis.fetch) => fetch(URL_A, { method: "POST", body: "hello" }),
      (fetch: typeof globalThis.fetch) => fetch(new Request(URL_A, { method: "POST", body: "hello" })),
    ]) {
      const { fetch, clock, seen } = setting([told("1"), told("1")]);
      send(fetch);
      await clock.advance(5_000);
      expect(seen.map(({ body }) => body)).toEqual(["hello", "hello", "hello"]);
    }
  });

  it("is not sent again if its body is a stream, which is gone", async () => {
    const { fetch, seen } = setting([told("1")]);
    const body = new Blob(["once"]).stream();
    // Node requires `duplex` for a body that is a stream.
    const init = { method: "POST", body, duplex: "half" };
    expect((await fetch(URL_A, init as RequestInit)).status).toBe(429);
    expect(seen.map(({ body }) => body)).toEqual(["once"]);
  });
});

describe("the response to a request that is sent again", () => {
  it("is let go, so that its connection is free", async () => {
    const clock = new ManualClock();
    const cancelled: unknown[] = [];
    const statuses = [429, 200];
    const fetch = pacedFetch({
      clock,
      fetch: async () => {
        const body = new ReadableStream({ cancel: (reason) => void cancelled.push(reason) });
        return new Response(body, { status: statuses.shift() ?? 200 });
      },
    });
    const response = watch(clock, fetch(URL_A));
    await clock.advance(1_000);
    expect(response.value?.status).toBe(200);
    expect(cancelled).toHaveLength(1);
  });
});

describe("an abort", () => {
  it("ends the wait with its reason, and nothing more is sent", async () => {
    for (const way of ["init", "request"]) {
      const { fetch, clock, seen } = setting([told("30")]);
      const controller = new AbortController();
      const { signal } = controller;
      const response = watch(clock, way === "init" ? fetch(URL_A, { signal }) : fetch(new Request(URL_A, { signal })));
      await clock.advance(1_000);
      controller.abort(new Error("changed my mind"));
      await clock.advance(60_000);
      expect(response.error).toMatchObject({ message: "changed my mind" });
      expect(seen).toHaveLength(1);
    }
  });
});

describe("a failure of the network", () => {
  it("is passed on to the caller and does not delay other requests", async () => {
    const clock = new ManualClock();
    const { fetch: send } = serverOf(clock, (_url, count) =>
      count === 0 ? new TypeError("fetch failed") : { status: 200 },
    );
    const fetch = pacedFetch({ fetch: send, clock });
    await expect(fetch(URL_A)).rejects.toThrow("fetch failed");
    expect((await fetch(URL_A)).status).toBe(200);
  });
});

describe("the options of the client", () => {
  it.each([
    [{ retries: 3 }, "options.retries"],
    [{ maxRetries: -1 }, "maxRetries"],
    [{ maxRetries: 1.5 }, "maxRetries"],
    [{ maxWaitMs: Number.NaN }, "maxWaitMs"],
    [{ pace: "yes" }, "pace"],
    [{ fetch: {} }, "fetch"],
    [{ groupOf: "a" }, "groupOf"],
    [{ clock: {} }, "clock"],
  ])("refuse %j", (options, field) => {
    expect(refusal(() => pacedFetch(options as FetchOptions))).toMatchObject({ code: "HG_BAD_OPTION", field });
  });

  it("need not be given: the global fetch serves", async () => {
    const { fetch } = globalThis;
    try {
      globalThis.fetch = async () => new Response("global");
      expect(await (await pacedFetch()(URL_A)).text()).toBe("global");
    } finally {
      globalThis.fetch = fetch;
    }
  });
});
