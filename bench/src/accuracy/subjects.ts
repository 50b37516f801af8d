import type { Place, Subject } from "./subject.ts";

interface Entry {
  readonly name: string;
  /** How it is configured, for readers of the page. */
  readonly configured: string;
  /** When its windows begin: at multiples of their length, with the first request, or at times of its own. */
  readonly windows: "aligned" | "first request" | "own";
  open(place: Place): Promise<Subject>;
}

const ownVariant = (variant: string, configured: string): Entry => ({
  name: `headgate ${variant}`,
  configured,
  windows: "aligned",
  open: async (place) => (await import("./subjects/headgate.ts")).open(variant, place),
});

/** Each in a module of its own, so that a process loads only what it measures. */
export const subjects: readonly Entry[] = [
  ownVariant("strict", "`new RedisStore(url)`"),
  ownVariant("resilient", "`resilient(redis, { nodes })`"),
  ownVariant("cached", "`cached(resilient(redis, { nodes }))`"),
  ownVariant("leased", "`leased(resilient(redis, { nodes }))`"),
  ownVariant("split", '`resilient(split(redis, { group }), { onError: "deny" })`'),
  {
    name: "rate-limiter-flexible",
    configured:
      "`RateLimiterRedis` with `inMemoryBlockOnConsumed`, an `insuranceLimiter` with the share of a process, and `enableOfflineQueue: false`",
    windows: "first request",
    open: async (place) => (await import("./subjects/rate-limiter-flexible.ts")).open(place),
  },
  {
    name: "express-rate-limit",
    configured: "with `rate-limit-redis` as in its README",
    windows: "first request",
    open: async (place) => (await import("./subjects/express-rate-limit.ts")).open(place),
  },
  {
    name: "@upstash/ratelimit",
    configured: "`Ratelimit.fixedWindow`, through an HTTP gateway to the same Redis",
    windows: "aligned",
    open: async (place) => (await import("./subjects/upstash-ratelimit.ts")).open(place),
  },
  {
    name: "bottleneck",
    configured: "a `reservoir` in cluster mode; jobs that would have to wait are dropped",
    windows: "own",
    open: async (place) => (await import("./subjects/bottleneck.ts")).open(place),
  },
];

export function subjectOf(name: string): Entry {
  const entry = subjects.find((subject) => subject.name === name);
  if (entry === undefined) throw new Error(`there is no subject ${name}`);
  return entry;
}
