import { expect, it } from "vitest";
import { leakyBucket, rateLimiter, tokenBucket } from "./index.ts";
import { decisionMetrics } from "./opentelemetry.ts";

it("counts decisions by policy, result and source, and the time in queues", () => {
  const recorded: unknown[] = [];
  const instrument = (name: string) => (value: number, attributes?: object) => recorded.push([name, value, attributes]);
  const onDecision = decisionMetrics({
    createCounter: (name) => ({ add: instrument(name) }),
    createHistogram: (name) => ({ record: instrument(name) }),
  });
  const rules = { api: tokenBucket("1/m"), queue: leakyBucket("60/m", { burst: 5 }) };
  const limiter = rateLimiter(rules, { onDecision });
  for (const rule of ["api", "api", "queue", "queue"] as const) limiter.checkSync(rule, "ann");
  const counted = (policy: string, result: string) => [
    "headgate.rate_limiting.requests",
    1,
    {
      "headgate.rate_limiting.policy": policy,
      "headgate.rate_limiting.result": result,
      "headgate.rate_limiting.source": "store",
      "headgate.rate_limiting.degraded": false,
    },
  ];
  const queued = (seconds: number) => [
    "headgate.rate_limiting.request.time_in_queue",
    expect.closeTo(seconds, 1),
    { "headgate.rate_limiting.policy": "queue" },
  ];
  expect(recorded).toEqual([
    counted("api", "allowed"),
    counted("api", "denied"),
    counted("queue", "allowed"),
    queued(0),
    counted("queue", "allowed"),
    queued(1),
  ]);
  expect(JSON.stringify(recorded)).not.toContain("ann");
});
