import type { Rules } from "../../src/index.ts";
import type { HeaderField } from "../../src/middleware/headers/response-headers.ts";
import type { RateLimitMiddleware } from "../../src/middleware/middleware.ts";
import type { ManualClock } from "../../src/testing/index.ts";
import type { TestRequest } from "../middleware/request.ts";

/** One request as a server saw it. */
interface Seen {
  readonly atMs: number;
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly status: number;
}

type Answer = { readonly status: number; readonly headers?: Record<string, string> };

/** A `fetch` without a network: each request is answered by a function, after a delay by the clock. */
export function serverOf(clock: ManualClock, answer: (url: string, count: number) => Answer | Error, travelMs = 0) {
  const seen: Seen[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    await clock.sleep(travelMs, request.signal);
    request.signal.throwIfAborted();
    const body = await request.text();
    const answered = answer(request.url, seen.length);
    const status = answered instanceof Error ? 0 : answered.status;
    seen.push({ atMs: clock.now() / 1000, method: request.method, url: request.url, body, status });
    if (answered instanceof Error) throw answered;
    const { headers = {} } = answered;
    const response = new Response("body", { status, headers });
    await clock.sleep(travelMs, request.signal);
    return response;
  };
  return { fetch, seen };
}

/** A server behind a gate of ours. */
export function gatedServer<R extends Rules>(
  clock: ManualClock,
  gate: RateLimitMiddleware<R, TestRequest>,
  travelMs = 0,
) {
  return serverOf(
    clock,
    () => {
      const admission = gate.admit({ peer: "1.2.3.4" });
      if (admission instanceof Promise) throw new Error("needs a store in memory");
      return { status: admission.allowed ? 200 : admission.status, headers: record(admission.headers) };
    },
    travelMs,
  );
}

function record(fields: readonly HeaderField[]): Record<string, string> {
  return Object.fromEntries(fields.map(({ name, value }) => [name, value]));
}
