import { createRequire } from "node:module";
import type { MakeChecker } from "./subject.ts";

const require = createRequire(import.meta.url);

interface FastRateLimit {
  consumeSync(namespace: string): boolean;
}

type FastRateLimitClass = new (options: { threshold: number; ttl: number }) => FastRateLimit;

export async function load(): Promise<MakeChecker> {
  const library: unknown = require("fast-ratelimit");
  const FastRateLimit = classOf(library);
  return ({ limit, windowMs }) => {
    const limiter = new FastRateLimit({ threshold: limit, ttl: windowMs / 1000 });
    return { kind: "sync", check: (key) => limiter.consumeSync(key) };
  };
}

/** The package has no types. */
function classOf(library: unknown): FastRateLimitClass {
  if (typeof library === "object" && library !== null && "FastRateLimit" in library) {
    const { FastRateLimit } = library;
    if (isClass(FastRateLimit)) return FastRateLimit;
  }
  throw new Error("fast-ratelimit has no class FastRateLimit with consumeSync");
}

function isClass(value: unknown): value is FastRateLimitClass {
  return typeof value === "function" && "consumeSync" in value.prototype;
}
