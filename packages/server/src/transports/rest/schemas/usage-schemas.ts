import { z } from "zod";
import { count, dimension, id, time } from "./common-fields.ts";
import { longPageQuery, next } from "./page-schemas.ts";

export const usageQuery = longPageQuery.extend({
  period: z.enum(["minute", "day"]).default("minute"),
  rule_id: id.optional(),
  from: time.optional().describe("Default: one hour before to, or 30 days when period is day"),
  to: time.optional().describe("Default: now"),
});

/** Rules in a summary. Each has a number for every minute or day. */
const MOST_SUMMED = 200;

export const summaryQuery = z.strictObject({
  ...usageQuery.omit({ rule_id: true, cursor: true, limit: true }).shape,
  limit: z.coerce.number().int().min(1).max(MOST_SUMMED).default(20).describe("Maximum number of rules"),
});

export const usage = z
  .object({
    period: z.enum(["minute", "day"]),
    from: z.string(),
    to: z.string(),
    rollups: z.array(
      z.object({
        start: z.string(),
        rule_id: z.string(),
        allowed: count,
        denied: count,
        shadow_denied: count,
        candidate_denied: count,
      }),
    ),
    next,
  })
  .describe("A page of usage figures, ordered by start and rule_id");

const series = {
  allowed: z.array(count),
  denied: z.array(count),
  shadow_denied: z.array(count),
  candidate_denied: z.array(count),
};

export const usageSummary = z
  .object({
    period: z.enum(["minute", "day"]),
    from: z.string(),
    to: z.string(),
    starts: z.array(z.string()).describe("The minutes or days in which anything was decided"),
    total: z.object(series).describe("All rules together, one number for each start"),
    rules: z
      .array(z.object({ rule_id: z.string(), ...series }))
      .describe("The rules that denied most, one number for each start"),
  })
  .describe("Summary of the usage figures");

export const topQuery = z.strictObject({ limit: z.coerce.number().int().min(1).max(1_000).default(20) });

export const topDenied = z
  .object({
    keys: z.array(
      z.object({
        dimension,
        identifier: z.string(),
        denied: count.describe("Upper bound of the number of denials"),
        error: count.describe("How much lower the true number may be"),
      }),
    ),
    nodes: count.describe("Number of nodes that contributed; a restarted node counts again"),
    complete: z.boolean().describe("Whether the figures of all nodes could be read"),
  })
  .describe("The keys that were denied most often");
