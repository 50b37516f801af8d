import { type Limit, tokenBucket } from "../../src/index.ts";
import { Decision } from "../../src/limiter/decision.ts";

interface Numbers {
  readonly allowed?: boolean;
  readonly remaining: number;
  readonly retryAfterMs?: number;
  readonly resetAfterMs: number;
  readonly timeMs?: number;
  readonly limit?: Limit;
}

/** A decision with the numbers that a test is about. */
export function someDecision(numbers: Numbers): Decision {
  const { allowed = true, remaining, retryAfterMs = 0, resetAfterMs, timeMs = 0, limit = tokenBucket("1/s") } = numbers;
  const answer = { allowed, remaining, retryAfter: retryAfterMs * 1000, resetAfter: resetAfterMs * 1000 };
  return new Decision({ name: "api", limit }, 1, answer, timeMs * 1000, "store", false, limit);
}
