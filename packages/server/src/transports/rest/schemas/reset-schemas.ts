import { z } from "zod";
import { singleCheck } from "./check-schemas.ts";
import { anyDimension, count } from "./common-fields.ts";

export const resetBody = z.strictObject({
  identifier: singleCheck.shape.identifier,
  dimension: anyDimension.default("user"),
  endpoint: singleCheck.shape.endpoint
    .optional()
    .describe("Reset only the rules that match this path. Default: all rules of the dimension"),
});

export const reset = z
  .object({
    reset: z.array(z.string()).max(1_000),
    more: count.optional().describe("Number of further rules that were reset"),
  })
  .describe("The rules that were reset");
