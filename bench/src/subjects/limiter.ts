import type { RateLimiter } from "limiter";
import type { MakeChecker } from "./subject.ts";

export async function load(): Promise<MakeChecker> {
  const library = await import("limiter");
  return ({ limit, windowMs }) => {
    // It limits a single key; this is how its users distinguish keys.
    const limiters = new Map<string, RateLimiter>();
    return {
      kind: "sync",
      check(key) {
        let limiter = limiters.get(key);
        if (limiter === undefined) {
          limiter = new library.RateLimiter({ tokensPerInterval: limit, interval: windowMs });
          limiters.set(key, limiter);
        }
        return limiter.tryRemoveTokens(1);
      },
    };
  };
}
