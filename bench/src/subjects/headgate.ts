import type { Decision } from "headgate";
import type { MakeChecker } from "./subject.ts";

// Decisions are kept, else the compiler might see that only `allowed` is read and never make them.
const kept: { decision: Decision | undefined } = { decision: undefined };

export async function load(): Promise<MakeChecker> {
  const { gcra, rateLimiter } = await import("headgate");
  return ({ limit, windowMs }) => {
    const limiter = rateLimiter({ api: gcra({ limit, windowMs }) });
    return {
      kind: "sync",
      check(key) {
        const decision = limiter.checkSync("api", key);
        kept.decision = decision;
        return decision.allowed;
      },
      checkMany(keys) {
        let allowed = 0;
        for (const decision of limiter.checkManySync(keys.map((key) => ({ rule: "api", key })))) {
          kept.decision = decision;
          if (decision.allowed) allowed += 1;
        }
        return allowed;
      },
    };
  };
}
