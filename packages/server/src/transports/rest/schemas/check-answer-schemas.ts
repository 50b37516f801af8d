import { z } from "zod";
import { PROBLEM_TYPE } from "../problem.ts";
import { count, dimension, origin } from "./common-fields.ts";
import { problem } from "./problem-schemas.ts";

const state = z.enum(["normal", "warning", "throttled"]);
const source = z.enum(["store", "lease", "cache", "fallback"]);

const wait = z
  .int()
  .min(-1)
  .describe("Milliseconds to wait before retrying; 0 if allowed, -1 if the request can never be allowed");

const queue = {
  queue_position: count.optional().describe("Units in the queue of a leaky bucket, including this request"),
  delay_ms: count
    .optional()
    .describe("Milliseconds to delay the request so that the traffic of a leaky bucket leaves at a constant rate"),
};

export const limitAnswer = z.object({
  rule_id: z.string(),
  name: z.string(),
  dimension: dimension.optional().describe("If the check has several identities: whose limit it is"),
  identifier: z.string().optional(),
  allowed: z.boolean(),
  current_count: z.number(),
  limit: z.number(),
  burst: z.number(),
  window_seconds: z
    .number()
    .describe("Length of the window; with a calendar, of the window in which the check was counted"),
  remaining: z.number(),
  reset_at_ms: count,
  retry_after_ms: wait,
  ...queue,
  state,
  source,
  degraded: z.boolean(),
  origin,
  candidate: z.literal(true).optional().describe("Set for the candidate of a rule"),
});

const answer = {
  allowed: z.boolean(),
  current_count: z.number().nullable().describe("Units in use; null if no rule matches"),
  limit: z.number().nullable(),
  remaining: z.number().nullable(),
  reset_at: count.nullable().describe("Unix time in seconds at which the full quota will be available"),
  retry_after: wait.describe("Seconds to wait before retrying; 0 if allowed, -1 if the request can never be allowed"),
  reset_at_ms: count.nullable(),
  retry_after_ms: wait,
  ...queue,
  rule_id: z.string().nullable().describe("The rule that decided"),
  state,
  source: source.nullable(),
  degraded: z.boolean().describe("Whether the decision was made without the store"),
  skew_ms: z
    .number()
    .optional()
    .describe("Milliseconds by which the client's clock is ahead of the store's, if timestamp was sent"),
  skewed: z.boolean().describe("Whether skew_ms exceeds skew_bound"),
  not_applied: z
    .array(z.string())
    .optional()
    .describe("Rules that limit concurrent tasks: only reservations apply them"),
  limits: z.array(limitAnswer).optional().describe("All enforced limits, if with_limits was set"),
  shadow_limits: z
    .array(limitAnswer)
    .optional()
    .describe(
      "All limits that deny nothing: in shadow mode, outside enforce_share, or candidates; if with_limits was set",
    ),
};

export const checkAnswer = z.object(answer).describe("The request is allowed");
const denial = z.looseObject({ ...problem.shape, ...answer, "violated-policies": z.array(z.string()) });

/** The responses of a denied check. */
export function denials(): Record<number, { description: string; content: Record<string, { schema: z.ZodType }> }> {
  const schema = z.union([denial, problem]);
  return {
    429: { description: "quota_exceeded: the request is denied", content: { [PROBLEM_TYPE]: { schema } } },
    503: {
      description: "reduced_capacity: the request is denied without the store; store_unavailable",
      content: { [PROBLEM_TYPE]: { schema } },
    },
  };
}
