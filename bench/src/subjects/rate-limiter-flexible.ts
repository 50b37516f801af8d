import type { MakeChecker } from "./subject.ts";

export async function load(): Promise<MakeChecker> {
  const { RateLimiterMemory } = await import("rate-limiter-flexible");
  return ({ limit, windowMs }) => {
    const limiter = new RateLimiterMemory({ points: limit, duration: windowMs / 1000 });
    return { kind: "async", check: (key) => limiter.consume(key), allowed: () => true };
  };
}
