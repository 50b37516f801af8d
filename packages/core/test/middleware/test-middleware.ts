import { fixedWindow, gcra, tokenBucket } from "../../src/index.ts";
import type { Admission, Denied, Passed } from "../../src/middleware/admission.ts";
import { RateLimitMiddleware } from "../../src/middleware/middleware.ts";
import type { MiddlewareOptions } from "../../src/middleware/middleware-options.ts";
import { testLimiter } from "../../src/testing/index.ts";
import { type TestRequest, testAdapter } from "./request.ts";

export const rules = { api: fixedWindow("2/m"), burst: gcra("1/s", { burst: 5 }), day: tokenBucket("10/d") };
export const ann: TestRequest = { peer: "1.2.3.4" };
export const bob: TestRequest = { peer: "5.6.7.8" };

export function gateOf(options: MiddlewareOptions<keyof typeof rules, TestRequest>) {
  const { limiter, clock } = testLimiter(rules, { startMs: 60_000_000 });
  return { gate: new RateLimitMiddleware(limiter, { proxies: 0, ...options, clock }, testAdapter), limiter, clock };
}

/** The answer of a gate that needs no promise. */
export function now(admission: Admission | Promise<Admission>): Admission {
  if (admission instanceof Promise) throw new Error("came as a promise");
  return admission;
}

export function passed(admission: Admission): Passed {
  if (!admission.allowed) throw new Error("was refused");
  return admission;
}

export function refused(admission: Admission): Denied {
  if (admission.allowed) throw new Error("passed");
  return admission;
}

export function headersOf({ headers }: Admission): Record<string, string> {
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}
