import type { OnDecision } from "./limiter/on-decision.ts";

type Attributes = Record<string, string | boolean>;

/** The part of a `Meter` of `@opentelemetry/api` that is used. */
export interface DecisionMeter {
  createCounter(
    name: string,
    options?: { description?: string; unit?: string },
  ): { add(value: number, attributes?: Attributes): void };
  createHistogram(
    name: string,
    options?: { description?: string; unit?: string },
  ): { record(value: number, attributes?: Attributes): void };
}

/**
 * Counts decisions as OpenTelemetry metrics: pass the result as the option `onDecision`. Keys are not recorded: they
 * have too many values for an attribute, and may be personal data.
 */
export function decisionMetrics(meter: DecisionMeter): OnDecision {
  const requests = meter.createCounter("headgate.rate_limiting.requests", {
    description: "Decisions by policy (the rule), result and source.",
    unit: "{request}",
  });
  const timeInQueue = meter.createHistogram("headgate.rate_limiting.request.time_in_queue", {
    description: "How long leaky buckets delay the requests that they admit.",
    unit: "s",
  });
  return ({ rule, allowed, source, degraded, queuePosition, delayMs }) => {
    const policy = { "headgate.rate_limiting.policy": rule };
    requests.add(1, {
      ...policy,
      "headgate.rate_limiting.result": allowed ? "allowed" : "denied",
      "headgate.rate_limiting.source": source,
      "headgate.rate_limiting.degraded": degraded,
    });
    if (queuePosition > 0) timeInQueue.record(delayMs / 1000, policy);
  };
}
