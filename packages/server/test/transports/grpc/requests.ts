import {
  type CheckRateLimitRequest,
  Dimension,
  type GetRemainingQuotaRequest,
} from "./generated/headgate/v1/rate_limiter.ts";

const identity = { identifier: "42", dimension: Dimension.DIMENSION_USER, endpoint: "/api/v1/orders" };

/** A check, with what a test states. */
export function check(fields: Partial<CheckRateLimitRequest> = {}): CheckRateLimitRequest {
  return {
    ...identity,
    cost: undefined,
    timestamp: undefined,
    idempotencyKey: "",
    withLimits: false,
    method: "",
    identities: [],
    ...fields,
  };
}

/** A question for quota, with what a test states. */
export function quota(fields: Partial<GetRemainingQuotaRequest> = {}): GetRemainingQuotaRequest {
  return { ...identity, cost: undefined, method: "", ...fields };
}
