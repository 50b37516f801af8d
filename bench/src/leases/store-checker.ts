import { fixedWindow, rateLimiter, type Store } from "headgate";
import type { AsyncChecker } from "../subjects/subject.ts";

/** A limit that is neither exhausted nor ends during the measurement. */
const limit = fixedWindow({ limit: 10 ** 12, windowMs: 3_600_000 });

/** Headgate on a store. */
export function storeChecker(store: Store): AsyncChecker {
  const limiter = rateLimiter({ api: limit }, { store });
  return {
    kind: "async",
    check: (key) => limiter.check("api", key),
    allowed: (decision) => "allowed" in decision && decision.allowed === true,
  };
}
