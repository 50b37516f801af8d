import type { Decision } from "headgate";
import type { MakeChecker } from "./subject.ts";

const kept: { decision: Decision | undefined } = { decision: undefined };

export async function load(): Promise<MakeChecker> {
  const { gcra, rateLimiter } = await import("headgate");
  return ({ limit, windowMs }) => {
    const limiter = rateLimiter({ api: gcra({ limit, windowMs }) });
    return {
      kind: "sync",
      check: (key) => limiter.checkSync("api", key).allowed,
      checkAndKeep(key) {
        kept.decision = limiter.checkSync("api", key);
        return kept.decision.allowed;
      },
      checkMany(keys) {
        let allowed = 0;
        for (const decision of limiter.checkManySync("api", keys)) {
          if (decision.allowed) allowed += 1;
        }
        return allowed;
      },
    };
  };
}
